package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unique"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/fleet/wire"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// Version is the protocol version that the fleet speaks.
const Version = 1

// stream is what a session goes over. See wire.Conn for its rules.
type stream interface {
	Open(method string, message []byte) error
	Next() ([]byte, error)
	Send(message []byte) error
}

// link is one session of an edge. It belongs to the edge's goroutine.
type link struct {
	e      *edge
	stream stream
	opened func() // called once the hub has answered

	welcomed bool
	ranges   bool // the hub takes Ranges
	lazy     bool // acks may wait, and be of several positions
	live     bool // caught up with all of the scope
	epoch    unique.Handle[string]
	said     []*replica             // the Hello's positions, by their numbers; nil once they are answered
	awaited  []schema.GroupResource // of the scope, what has not been announced yet
	message  *message               // the one that came last
	changes  []change               // scratch of decode
	retry    time.Duration          // how long the hub wants the edge to stay away
	silence  time.Duration          // how long the hub may be silent; 0: for ever

	received uint64 // bytes of messages taken off the stream
	reported uint64 // what the last ack has said of these
	owed     bool   // a batch has come since
	hasty    bool   // the ack can't wait
}

var errDrained = errors.New("the hub asked the edge to leave")

// run serves the session until it ends.
func (l *link) run(ctx context.Context) error {
	if err := l.open(); err != nil {
		return err
	}
	for {
		if l.e.stuck && l.live {
			l.e.f.stats.stuck.Add(1)
			l.e.lost.Store(0)
			<-ctx.Done() // the connection is alive, and nobody reads
			return ctx.Err()
		}
		raw, err := l.stream.Next()
		switch {
		case errors.Is(err, wire.ErrWoken):
			err = l.acknowledge()
		case err == nil:
			err = l.receive(raw)
		}
		if err != nil {
			return err
		}
	}
}

// open sends the Hello.
func (l *link) open() error {
	raw, err := proto.Marshal(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Hello{Hello: l.hello()}})
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	l.e.f.stats.bytesOut.Add(int64(len(raw) + prefix))
	return l.stream.Open(tombolov1.SyncService_Sync_FullMethodName, raw)
}

// receive handles one message as it came.
func (l *link) receive(raw []byte) error {
	l.e.f.stats.bytesIn.Add(int64(len(raw) + prefix))
	l.received += uint64(len(raw))
	m, err := l.e.f.inbox.decode(raw)
	if err != nil {
		return err
	}
	l.message = m
	if err := l.take(m.response); err != nil {
		return err
	}
	l.settle()
	if l.silence > 0 {
		l.e.lost.Store(l.e.f.now.Load() + int64(l.silence))
	}
	return l.acknowledge()
}

// take handles one message.
func (l *link) take(m *tombolov1.SyncResponse) error {
	if !l.welcomed && m.GetWelcome() == nil {
		return nonsense("its first message is not a Welcome but a %T", m.GetMessage())
	}
	switch m := m.GetMessage().(type) {
	case *tombolov1.SyncResponse_Welcome:
		return l.welcome(m.Welcome)
	case *tombolov1.SyncResponse_Subscription:
		return l.subscription(m.Subscription)
	case *tombolov1.SyncResponse_Batch:
		return l.batch(m.Batch)
	case *tombolov1.SyncResponse_Checkpoint:
		return l.checkpoint(m.Checkpoint)
	case *tombolov1.SyncResponse_RangeNeed:
		return l.rangeNeed(m.RangeNeed)
	case *tombolov1.SyncResponse_Progress:
		return l.progress(m.Progress)
	case *tombolov1.SyncResponse_Unsubscription:
		return l.drop(groupResource(m.Unsubscription.GetResource()))
	case *tombolov1.SyncResponse_DocumentIndex:
		hash := m.DocumentIndex.GetHash()
		l.e.f.documents.Store(&hash)
		return nil
	case *tombolov1.SyncResponse_Drain:
		l.retry = time.Duration(m.Drain.GetRetryAfterMs()) * time.Millisecond
		return errDrained
	default:
		return nonsense("a %T, which nobody asked for", m)
	}
}

// subscription takes note of how the hub is going to bring a resource up to date.
func (l *link) subscription(m *tombolov1.Subscription) error {
	gr := groupResource(m.GetResource())
	if gr.Resource == "" || m.GetId() == 0 {
		return nonsense("a Subscription without a resource or an id")
	}
	r := l.replica(gr)
	if m.GetPlan() == tombolov1.Plan_PLAN_WAIT {
		if r != nil {
			r.live = false
		}
		if m.GetUnavailable() {
			l.announced(gr)
		}
		return nil
	}
	if other, err := l.byID(m.GetId()); err == nil && other != r {
		return nonsense("subscription %d is of %s and of %s", m.GetId(), other.kind.gr, gr)
	}
	k, err := l.e.f.kinds.get(gr, m.GetInfo())
	if err != nil {
		return err
	}
	if r == nil {
		r = newReplica(k)
		l.e.replicas = append(l.e.replicas, r)
	}
	l.announced(gr)
	return l.plan(r, k, m)
}

func (l *link) plan(r *replica, k *kind, m *tombolov1.Subscription) error {
	l.e.f.stats.plan(m.GetPlan())
	if r.id != m.GetId() {
		r.asked = false // an inventory under the old number is not answered any more
	}
	r.kind, r.id, r.live, r.exact = k, m.GetId(), false, nil
	r.pending = target{l.epoch, unique.Make(m.GetView())}
	if m.GetPlan() == tombolov1.Plan_PLAN_RESUME && r.needed && m.GetFromRev() > r.rev {
		return l.askAgain(r) // it was under way before the Need
	}
	r.needed, r.missed = false, nil
	switch m.GetPlan() {
	case tombolov1.Plan_PLAN_RESUME:
		r.discard()
		return nil
	case tombolov1.Plan_PLAN_CHANGES:
		r.open = true
		return nil
	case tombolov1.Plan_PLAN_RECONCILE:
		r.open = true
		if m.GetRewound() {
			r.rewind()
		}
		if r.asked {
			return nil
		}
		return l.inventory(r, 0, "")
	default:
		return nonsense("%s: a plan %s", r.kind.gr, m.GetPlan())
	}
}

// progress takes over positions that moved without an event.
func (l *link) progress(p *tombolov1.Progress) error {
	for _, a := range p.GetAdvances() {
		r, err := l.byID(a.GetSubscription())
		switch {
		case err != nil:
			return err
		case r.needed:
			continue
		case r.open || len(r.exact) > 0:
			return nonsense("%s: progress inside a step", r.kind.gr)
		case a.GetRev() < r.rev:
			return nonsense("%s: progress from %d back to %d", r.kind.gr, r.rev, a.GetRev())
		}
		r.rev = a.GetRev()
	}
	return nil
}

// drop forgets a resource.
func (l *link) drop(gr schema.GroupResource) error {
	l.announced(gr)
	l.e.replicas = slices.DeleteFunc(l.e.replicas, func(r *replica) bool { return r.kind.gr == gr })
	return nil
}

func (l *link) announced(gr schema.GroupResource) {
	l.awaited = slices.DeleteFunc(l.awaited, func(a schema.GroupResource) bool { return a == gr })
	if len(l.awaited) == 0 {
		l.awaited = nil
	}
}

func (l *link) replica(gr schema.GroupResource) *replica {
	for _, r := range l.e.replicas {
		if r.kind.gr == gr {
			return r
		}
	}
	return nil
}

func (l *link) byID(id uint32) (*replica, error) {
	for _, r := range l.e.replicas {
		if r.id == id && id != 0 {
			return r, nil
		}
	}
	return nil, nonsense("subscription %d, which it has not announced", id)
}

// settle counts the edge as live while all of its scope is.
func (l *link) settle() {
	live := l.welcomed && l.awaited == nil && !slices.ContainsFunc(l.e.replicas, func(r *replica) bool { return !r.live })
	if live != l.live {
		l.live = live
		l.e.f.stats.caughtUp(live)
	}
}

// close counts the end of the session.
func (l *link) close() {
	l.e.due.Store(0)
	l.e.lost.Store(0)
	if l.live {
		l.e.f.stats.caughtUp(false)
	}
	if l.welcomed {
		l.e.f.stats.closed()
	}
}

func (l *link) send(m *tombolov1.SyncRequest) error {
	raw, err := proto.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	l.e.f.stats.bytesOut.Add(int64(len(raw) + prefix))
	return l.stream.Send(raw)
}
