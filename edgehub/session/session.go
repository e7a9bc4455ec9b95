package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/edgehub/store"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// session is one stream to a hub. It belongs to the goroutine of Client.Run, but for what receive and the scout do.
type session struct {
	c      *Client
	ctx    context.Context // the session's
	cancel context.CancelCauseFunc
	line   *line
	hub    string           // the line's
	conn   *grpc.ClientConn // likewise
	stream tombolov1.SyncService_SyncClient
	timer  *time.Timer                  // ends an attempt
	unbind func() bool                  // of what an attempt depends on
	in     chan *tombolov1.SyncResponse // what has come, in order; nil before the Hello
	ended  chan error                   // gets the one reason for which receive has ended

	next     chan *session // takes over from this one, if it is welcomed
	outcome  chan error    // of taking over from another one; has room for it
	seeking  atomic.Bool   // a scout is under way
	scouts   sync.WaitGroup
	drained  atomic.Bool  // the hub wants us to leave
	stayAway atomic.Int64 // and how long it wants us to stay away

	welcomed  bool
	epoch     string
	progress  time.Duration // how often the hub sends something
	ids       map[uint32]*replica
	numbers   map[*replica]uint32
	acks      acks
	reports   reports
	noted     time.Time       // the time of contact that is stored
	wanted    <-chan struct{} // closed when the hub is to hear what is wanted
	tidied    time.Time       // when it was last looked for what nobody uses
	index     *documentIndex  // the last one that came; nil before
	questions questions
	greeting  greeting     // what the Hello said
	offered   capabilities // what the Hello named
	agreed    capabilities // and what the Welcome left of it

	progressed bool // something became durable, or was found to agree with the hub
	// saidLoading is when the log last told how far catch-ups are.
	saidLoading time.Time
	stalled     bool      // no message for long, although bytes come
	useful      time.Time // when the hub last kept anything current
}

const (
	// queued is how many messages may wait for the disk; the hub sends no more than its window anyway.
	queued = 32
	// groupBytes is how many bytes of objects go into one commit, unless a single message has more.
	groupBytes = 4 << 20
	// noteEvery is how far the stored time of the last contact may be behind after a crash.
	noteEvery = 30 * time.Second
)

var errVersion = errors.New("another protocol version")

var (
	errSilent = errors.New("the hub has fallen silent")
	errLost   = errors.New("the hub has lost the cloud")
)

// receive hands messages over in their order until the stream ends.
func (s *session) receive(ctx context.Context, in chan<- *tombolov1.SyncResponse) error {
	for {
		m, err := s.stream.Recv()
		if err != nil {
			return err
		}
		s.c.hears(time.Now())
		select {
		case in <- m:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// apply takes messages in groups: what arrived during one commit goes into the next one together.
//
// It returns another session, which is to take over, and may be called again if that comes to nothing. With neither that nor an
// error, the stream has ended, and receive says why.
func (s *session) apply(ctx context.Context, in <-chan *tombolov1.SyncResponse) (next *session, err error) {
	if s.leaving() {
		s.seek()
	}
	pulse := time.NewTicker(time.Minute)
	defer pulse.Stop()
	for beat := time.Duration(0); ; {
		if s.progress != beat {
			beat = s.progress
			pulse.Reset(beat)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case now := <-pulse.C:
			if err := s.pulse(now); err != nil {
				return nil, err
			}
			if err := s.tidy(now); err != nil {
				return nil, err
			}
			if s.leaving() {
				s.seek()
			}
			if err := s.report(now); err != nil {
				return nil, err
			}
		case next := <-s.next:
			return next, nil
		case <-s.c.keys.wake:
			if s.leaving() {
				s.seek()
			}
		case <-s.wanted:
			if err := s.sendDemand(); err != nil {
				return nil, err
			}
		case <-s.acks.timer.C:
			if err := s.sendAck(); err != nil {
				return nil, err
			}
		case a := <-s.questions.desk.in:
			if err := s.ask(a); err != nil {
				return nil, err
			}
		case m, ok := <-in:
			if !ok {
				return nil, nil
			}
			if err := s.applyGroup(in, m); err != nil {
				return nil, err
			}
			s.c.current.Store(s.caughtUp())
			if err := s.settleAcks(); err != nil {
				return nil, err
			}
		}
	}
}

// applyGroup applies m and what has arrived behind it.
func (s *session) applyGroup(in <-chan *tombolov1.SyncResponse, m *tombolov1.SyncResponse) error {
	g := newGroup(s)
	for {
		s.acks.received += uint64(proto.Size(m)) //nolint:gosec // not negative
		taken, err := g.take(m)
		if err != nil {
			return err
		}
		if !taken { // it stands for itself
			if err := g.commit(); err != nil {
				return err
			}
			if err := s.control(m); err != nil {
				return err
			}
			g = newGroup(s)
		}
		if g.stages() && s.acks.untold() >= earlyBytes {
			if err := s.sendReceived(); err != nil {
				return err
			}
		}
		if g.bytes >= groupBytes {
			return g.commit()
		}
		select {
		case next, ok := <-in:
			if !ok {
				return g.commit()
			}
			m = next
		default:
			return g.commit()
		}
	}
}

// control applies a message that does not go into a group.
func (s *session) control(m *tombolov1.SyncResponse) error {
	if !s.welcomed && m.GetWelcome() == nil {
		return errors.New("the hub's first message is not a Welcome")
	}
	switch m := m.GetMessage().(type) {
	case *tombolov1.SyncResponse_Welcome:
		return s.welcome(m.Welcome)
	case *tombolov1.SyncResponse_Subscription:
		return s.subscription(m.Subscription)
	case *tombolov1.SyncResponse_Checkpoint:
		return s.checkpoint(m.Checkpoint)
	case *tombolov1.SyncResponse_DocumentIndex:
		return s.documentIndex(m.DocumentIndex)
	case *tombolov1.SyncResponse_Documents:
		return s.documents(m.Documents)
	case *tombolov1.SyncResponse_Unsubscription:
		return s.unsubscribed(groupResource(m.Unsubscription.GetResource()), m.Unsubscription.GetReason())
	case *tombolov1.SyncResponse_Drain:
		s.drain(m.Drain)
		return nil
	case *tombolov1.SyncResponse_RangeNeed:
		return s.rangeNeed(m.RangeNeed)
	case *tombolov1.SyncResponse_Batch:
		return s.finishGapped(m.Batch)
	default:
		return fmt.Errorf("the hub sent a %T, which this version does not know", m)
	}
}

// dropForeign forgets what is of another cluster: its revisions mean nothing here.
func (s *session) dropForeign() error {
	for gr, r := range s.c.replicas {
		if r.pending.epoch != s.epoch {
			s.c.foreign[gr] = r.log.Rev()
			s.c.log.Warn("data of another cluster is dropped", "resource", gr, "was", r.pending.epoch, "is", s.epoch)
			if err := s.drop(gr, "the hub belongs to another cluster"); err != nil {
				return err
			}
		}
	}
	return nil
}

// drop forgets a resource. Its watches end.
func (s *session) drop(gr schema.GroupResource, reason string) error {
	s.c.settle(gr)
	s.c.loaded(gr)
	r := s.c.replicas[gr]
	if r == nil {
		return nil
	}
	if err := s.c.cfg.Store.Update(func(tx *store.Tx) error { return tx.Drop(gr) }); err != nil {
		return fmt.Errorf("drop %s: %w", gr, err)
	}
	s.c.log.Info("resource dropped", "resource", gr, "reason", reason)
	s.c.forget(gr)
	delete(s.ids, s.numbers[r])
	delete(s.numbers, r)
	r.log.Close(nil)
	return nil
}

// caughtUp tells whether the edge has come as far as the hub, and the hub as far as the cloud, with every resource.
func (s *session) caughtUp() bool {
	for _, r := range s.c.replicas {
		if (!r.live || r.lost) && !s.c.isComing(r.log) {
			return false
		}
	}
	s.c.mu.RLock()
	defer s.c.mu.RUnlock()
	return s.welcomed && len(s.c.awaited) == 0
}

// disconnected notes when the hub was last heard of, for after a restart.
func (s *session) disconnected() {
	s.c.linked.Store(false)
	s.c.conn.Store(nil)
	s.c.current.Store(false)
	s.c.wishes.Unlinked()
	for _, r := range s.c.replicas {
		r.setLive(false, s.c.lastHeard())
	}
	if err := s.c.cfg.Store.Update(s.noteEnd); err != nil {
		s.c.log.Error("the time of the last contact was not stored", "err", err)
	}
}

// noteContact stores when the hub was last heard of.
func (s *session) noteContact(tx *store.Tx) error {
	_, last := s.c.Contact()
	if last.IsZero() {
		return nil
	}
	s.noted = last
	return tx.SetInfo(infoHeard, last.UTC().Format(time.RFC3339Nano))
}
