package syncsrv

import (
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// follower is an edge that takes in what a subscription sends.
type follower struct {
	t        testing.TB
	c        *chronicle
	u        *subscription
	stream   *fakeStream
	objects  map[string]*watchlog.Object
	rev      uint64
	compared int // checkpoints that were compared
}

// follow opens a session of an edge that has everything up to a revision, objects.
func (c *chronicle) follow(srv *Server, rule string, rev uint64, objects map[string]*watchlog.Object) *follower {
	u, stream := testSubscription()
	u.s.srv, u.s.can = srv, capabilities{patches: true, frames: true}
	u.log, u.view = c.log, testView(c.t, rule)
	u.projection = srv.projections.of(c.log, u.view)
	u.have.rev, u.s.buf = rev, make([]*watchlog.Event, 0, pageEvents)
	if err := u.beginChanges(rev); err != nil {
		c.t.Fatal(err)
	}
	return &follower{t: c.t, c: c, u: u, stream: stream, objects: maps.Clone(objects), rev: rev}
}

// step has the subscription send something, and takes it in. It tells whether there was anything.
func (f *follower) step() bool {
	f.t.Helper()
	busy, err := f.u.step(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	sent := f.stream.sent
	f.stream.sent = nil
	for _, m := range sent {
		if b := m.GetBatch(); b != nil {
			f.take(unframe(f.t, b))
		}
		if cp := m.GetCheckpoint(); cp != nil {
			f.compare(cp)
		}
	}
	return busy || len(sent) > 0
}

func (f *follower) take(b *tombolov1.Batch) {
	f.t.Helper()
	for _, op := range b.GetOperations() {
		if op.GetType() == tombolov1.OperationType_OPERATION_TYPE_DELETE {
			delete(f.objects, op.GetKey())
			continue
		}
		raw := op.GetData()
		if op.GetEncoding() == tombolov1.Encoding_ENCODING_ZSTD_PATCH {
			var err error
			raw, _, err = delta.Apply(f.objects[op.GetKey()], raw, delta.Result{JSON: op.GetJsonSize(), Sum: op.GetCrc32C()})
			if err != nil {
				f.t.Fatal(err)
			}
		}
		o, err := f.c.log.Decoder().Decode(raw)
		if err != nil {
			f.t.Fatal(err)
		}
		f.objects[op.GetKey()] = o
	}
	if !b.GetMore() {
		f.rev = b.GetUptoRev()
	}
}

func (f *follower) compare(cp *tombolov1.Checkpoint) {
	f.t.Helper()
	var d delta.Digest
	for _, o := range f.objects {
		d.Add(o)
	}
	if want, err := delta.Parse(cp.GetCount(), cp.GetDigest()); err != nil || d != want {
		f.t.Fatalf("at %d: %d objects, the hub says %d", cp.GetRev(), d.Count, cp.GetCount())
	}
	f.compared++
	f.rev = cp.GetRev()
	if err := f.u.acked(f.rev); err != nil {
		f.t.Fatal(err)
	}
}

// stock fills the log with n pods of about 3 kB.
func (c *chronicle) stock(n int) {
	var objects []*watchlog.Object
	for i := range n {
		c.rev++
		text := ""
		for len(text) < 3000 {
			text += fmt.Sprintf("field-%d: value %x; ", len(text)%7, c.rng.IntN(1<<16))
		}
		o := c.object(fmt.Sprint("stock-", i), fmt.Sprint("s", i), fmt.Sprint("n", i%3), text, c.rev)
		objects = append(objects, o)
		c.live[o.Key()] = o
	}
	c.commit(c.log.Snapshot().PlanReplace(objects, c.rev))
}

func sharingServer() *Server {
	u, _ := testSubscription()
	u.s.srv.projections = newProjections()
	u.s.srv.cfg.ProgressInterval, u.s.srv.cfg.CheckInterval, u.s.srv.cfg.Window = time.Second, time.Hour, 1<<30
	return u.s.srv
}

// TestEdgesThatBeginTogetherShareTheirPages: edges that sync for the first time, or after a while away, at about the same
// time, while the log moves, are sent the same bytes, and all come to what the log has.
func TestEdgesThatBeginTogetherShareTheirPages(t *testing.T) {
	synctest.Test(t, testSharedPages) // listings are joined for some time
}

func testSharedPages(t *testing.T) {
	c, srv := newChronicle(t, 5, watchlog.Config{}), sharingServer()
	c.stock(600)
	away := maps.Clone(c.live) // what an edge had that was here now
	since := c.rev
	for range 50 {
		c.rev++
		o := c.object(fmt.Sprint("stock-", c.rng.IntN(600)), "", "n1", "changed", c.rev)
		c.write(o)
	}
	var all []*follower
	for i := range 12 {
		if i%3 == 2 {
			all = append(all, c.follow(srv, testRules[0], since, away))
		} else {
			all = append(all, c.follow(srv, testRules[0], 0, map[string]*watchlog.Object{}))
		}
		c.rev++
		c.write(c.object(fmt.Sprint("stock-", i), "", "n2", fmt.Sprint("now ", i), c.rev))
		for _, f := range all {
			f.step()
		}
	}
	p := all[0].u.projection
	pages := len(p.listing.pages)
	if pages < 5 {
		t.Fatalf("only %d pages", pages)
	}
	for busy := true; busy; {
		busy = false
		for _, f := range all {
			busy = f.step() || busy
		}
	}
	for i, f := range all {
		if f.compared != 1 || f.rev != c.log.Rev() || !maps.Equal(revs(f.objects), revs(c.live)) {
			t.Errorf("edge %d: at %d of %d, %d checkpoints", i, f.rev, c.log.Rev(), f.compared)
		}
	}
	if p.listing != nil {
		t.Error("the listing is kept for nobody")
	}
	listed := 0
	for key := range srv.projections.runs.by {
		if key.of != p.number {
			listed++
		}
	}
	if listed == 0 || listed > pages {
		t.Errorf("%d pages were made into %d runs", pages, listed)
	}
	for _, f := range all {
		f.u.close()
	}
	if c.log.HasReaders() || len(srv.projections.by) > 0 || srv.projections.runs.bytes > 0 {
		t.Error("something holds on to the log")
	}
}

func revs(objects map[string]*watchlog.Object) map[string]uint64 {
	out := map[string]uint64{}
	for key, o := range objects {
		out[key] = o.Rev()
	}
	return out
}

// write commits one object, in place of the one that is there.
func (c *chronicle) write(o *watchlog.Object) {
	if old := c.live[o.Key()]; old != nil && o.UID() != old.UID() {
		o = c.object(o.Name(), old.UID(), o.Field(0), string(o.JSON()), o.Rev())
	}
	c.live[o.Key()] = o
	c.commit(c.log.Snapshot().Plan([]watchlog.Op{{Key: o.Key(), Rev: o.Rev(), Object: o}}, o.Rev()))
}

// TestListingIsNotJoinedByWhoIsPastIt: an edge that has come further, at another hub, would be sent back.
func TestListingIsNotJoinedByWhoIsPastIt(t *testing.T) {
	synctest.Test(t, testJoining)
}

func testJoining(t *testing.T) {
	c, srv := newChronicle(t, 6, watchlog.Config{}), sharingServer()
	c.stock(10)
	first := c.follow(srv, testRules[0], 0, nil)
	defer first.u.close()
	at := c.rev
	c.rev += 5
	c.write(c.object("stock-1", "", "n1", "later", c.rev))
	for _, from := range []uint64{0, at - 3, at} {
		f := c.follow(srv, testRules[0], from, nil)
		if f.u.catchup.listing != first.u.catchup.listing || f.u.catchup.rev != at {
			t.Errorf("from %d: not joined", from)
		}
		f.u.close()
	}
	time.Sleep(joinFor)
	f := c.follow(srv, testRules[0], at, nil)
	if f.u.catchup.rev != c.rev {
		t.Error("a listing is joined that is out of date")
	}
	f.u.close()
	f = c.follow(srv, testRules[0], at+1, nil)
	if f.u.catchup.rev != c.rev || len(f.u.catchup.objects) != 1 {
		t.Errorf("from %d: %d objects up to %d", at+1, len(f.u.catchup.objects), f.u.catchup.rev)
	}
	f.u.close()
}

// TestListingIsHandedBackByWhoseViewChanges: to the view that it is of.
func TestListingIsHandedBackByWhoseViewChanges(t *testing.T) {
	c, srv := newChronicle(t, 7, watchlog.Config{}), sharingServer()
	c.stock(10)
	goes, stays := c.follow(srv, testRules[0], 0, nil), c.follow(srv, testRules[0], 0, nil)
	defer goes.u.close()
	p := goes.u.projection
	other := srv.projections.of(c.log, p.view) // of an edge that is live
	defer other.release()
	stays.u.close()
	if p.listing == nil || p.listing.users != 1 {
		t.Fatal("nobody is sent the listing")
	}
	goes.u.use(testView(t, testRules[1]))
	if err := goes.u.beginChanges(0); err != nil {
		t.Fatal(err)
	}
	if p.listing != nil {
		t.Error("the listing is kept for nobody")
	}
	if l := goes.u.projection.listing; l == nil || l.users != 1 {
		t.Error("that of the other view has no user")
	}
}
