package syncsrv

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// catchup is the sending of a state that the edge can't follow event by event.
type catchup struct {
	rev     uint64             // the state's position
	digest  delta.Digest       // of all that the edge is to hold
	objects []*watchlog.Object // still to be sent, in the order of their revisions
	gone    []string           // keys that the edge is to drop
	reader  *watchlog.Reader   // of what happens behind rev
	gapFrom uint64             // where the edge was before
	listing *listing           // whose end objects are; nil when the edge is sent what no other is
}

// beginChanges starts to send what has a revision behind from: everything that changed since an edge was there. What was
// deleted meanwhile the edge finds out by the digest.
func (u *subscription) beginChanges(from uint64) error {
	l := u.projection.list(from)
	reader, err := l.snap.NewReader(u, u.view.Terms()...)
	if err != nil {
		u.projection.unlist(l)
		return u.fail(err)
	}
	u.letGoReader()
	u.phase, u.catchup = changing, &catchup{
		rev: l.snap.Rev(), digest: l.digest, objects: l.behind(from), reader: reader, gapFrom: u.have.rev, listing: l,
	}
	return nil
}

// state is a catchup that is being put together from a snapshot.
type state struct {
	catchup
	snap watchlog.Snapshot
}

func (u *subscription) newCatchup() (*state, error) {
	snap := u.log.Snapshot()
	reader, err := snap.NewReader(u, u.view.Terms()...)
	if err != nil {
		return nil, err
	}
	return &state{catchup: catchup{rev: snap.Rev(), reader: reader, gapFrom: u.have.rev}, snap: snap}, nil
}

func (u *subscription) start(c *catchup, p phase) {
	slices.SortFunc(c.objects, func(a, b *watchlog.Object) int { return cmp.Compare(a.Rev(), b.Rev()) })
	u.letGoReader()
	u.catchup, u.phase = c, p
	u.s.review = u.s.review || u.stale // of what is to be sent now, something may have left the view
}

// stepCatchup sends the next batch of a catch-up, or its end.
func (u *subscription) stepCatchup() (bool, error) {
	c := u.catchup
	r := u.nextRun()
	if r.err != nil {
		return true, u.fail(r.err)
	}
	if r.ops > 0 {
		remaining := uint64(len(c.objects))
		return true, u.sendRun(r, batch{upto: r.last, more: true, gapFrom: c.gapFrom, remaining: remaining})
	}
	u.phase, u.sentRev = confirming, c.rev
	return false, u.checkpoint(c.rev, c.digest)
}

// nextRun takes the next run of the catch-up, an empty one at its end.
func (u *subscription) nextRun() *run {
	c := u.catchup
	var ops []*tombolov1.Operation
	switch {
	case len(c.gone) > 0:
		n := min(len(c.gone), maxRemovals)
		for _, key := range c.gone[:n] {
			ops = append(ops, remove(key, 0))
		}
		c.gone = c.gone[n:]
	case len(c.objects) == 0:
	case c.listing != nil:
		n, r := u.projection.listed(c.listing, len(c.listing.objects)-len(c.objects), u.s.can.frames)
		c.objects = c.objects[n:]
		return r
	default:
		n := page(c.objects)
		ops = puts(c.objects[:n])
		c.objects = c.objects[n:]
	}
	return newRun(ops, u.s.can.frames)
}

// puts are the operations that give the edge objects whole, each at its own revision.
func puts(objects []*watchlog.Object) []*tombolov1.Operation {
	ops := make([]*tombolov1.Operation, len(objects))
	for i, o := range objects {
		ops[i] = put(o, o.Rev())
	}
	return ops
}

// maxRemovals bounds the removals in one batch.
const maxRemovals = 4096

// stock is what an edge says it holds.
type stock struct {
	items map[string]*tombolov1.Item
	limit int
}

// inventory takes in a part of an edge's inventory and, with the last one, begins to send what differs.
func (u *subscription) inventory(inv *tombolov1.Inventory) error {
	if u.phase != live && u.phase != awaiting && u.phase != confirming {
		return nil // the plan has changed meanwhile, and with it the id: not for us
	}
	if u.stock == nil {
		u.stock = &stock{items: map[string]*tombolov1.Item{}, limit: maxForeign + 2*u.log.Snapshot().Len()}
	}
	for _, item := range inv.GetItems() {
		if len(item.GetKey())+len(item.GetUid()) > maxIdentity {
			return status.Errorf(codes.InvalidArgument, "an inventory with an object %.50q", item.GetKey())
		}
		u.stock.items[item.GetKey()] = item
	}
	if len(u.stock.items) > u.stock.limit {
		return status.Errorf(codes.ResourceExhausted, "an inventory of more than %d objects", u.stock.limit)
	}
	if inv.GetMore() {
		return nil
	}
	if inv.GetRanged() {
		if u.partial == nil {
			return status.Errorf(codes.InvalidArgument, "%s: an inventory of parts that nobody asked for", u.gr)
		}
		return u.reconcileParts()
	}
	if err := u.mayDisagree(); err != nil {
		return err
	}
	if u.isBlind() && u.have.rev > 0 && u.have.view == u.view.Hash() {
		return u.dispute()
	}
	if err := u.disagreed(inv.GetReason()); err != nil {
		return err
	}
	return u.reconcile()
}

// disagreed takes note that the edge holds something else, for a reason unless it was asked what it holds. It ends the
// session when that happens again and again.
func (u *subscription) disagreed(reason string) error {
	if reason != "" {
		u.s.srv.metrics.mismatches.Inc()
		u.s.log.Warn("the edge disagrees", "resource", u.gr, "reason", reason)
	}
	if u.attempts++; u.attempts > maxAttempts {
		return status.Error(codes.Internal, fmt.Sprintf("hub and edge do not agree on %s after %d attempts", u.gr, maxAttempts))
	}
	return nil
}

// maxForeign is how many objects an edge may hold that the hub does not.
const maxForeign = 100_000

// maxIdentity bounds an object's key and UID together, in bytes: names and namespaces have 253 at most.
const maxIdentity = 700

// interruptLive tells a live edge that a reconcile begins.
func (u *subscription) interruptLive() error {
	if u.phase != live {
		return nil
	}
	u.have.rev = u.sentRev
	return u.announce(tombolov1.Plan_PLAN_RECONCILE, "")
}

// reconcile begins to send what differs between the inventory and what the edge is to hold.
func (u *subscription) reconcile() error {
	stock := u.stock
	if err := u.interruptLive(); err != nil {
		return err
	}
	c, err := u.newCatchup()
	if err != nil {
		return u.fail(err)
	}
	for o := range u.projection.held(c.snap) {
		c.digest.Add(o)
		item := stock.take(o.Key())
		if item.GetRev() != o.Rev() || item.GetUid() != o.UID() || item.GetCrc32C() != o.Checksum() {
			c.objects = append(c.objects, o)
		}
	}
	c.drop(stock)
	u.start(&c.catchup, reconciling)
	return nil
}

// take returns what the edge says of a key, nil if nothing, and takes it out of the stock.
func (s *stock) take(key string) *tombolov1.Item {
	item := s.items[key]
	delete(s.items, key)
	return item
}

// drop has the edge drop what is left of the stock.
func (c *catchup) drop(s *stock) {
	for key := range s.items {
		c.gone = append(c.gone, key)
	}
}
