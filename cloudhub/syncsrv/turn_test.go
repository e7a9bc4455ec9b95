package syncsrv

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// twofold is a session that is live with one resource, subscription 2, and in a first sync with another, subscription 1.
type twofold struct {
	*session
	stream *fakeStream
	live   *chronicle
}

func newTwofold(t *testing.T) *twofold {
	t.Helper()
	big, small := newChronicle(t, 1, watchlog.Config{}), newChronicle(t, 2, watchlog.Config{})
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 20 {
		noise := make([]byte, batchBytes/2)
		for k := range noise {
			noise[k] = 'a' + byte(rng.IntN(26))
		}
		big.rev++
		big.commit(big.log.Snapshot().Plan([]watchlog.Op{{
			Key: fmt.Sprint("ns/b", i), Rev: big.rev, Object: big.object(fmt.Sprint("b", i), "u", "n", string(noise), big.rev),
		}}, big.rev))
	}
	u, stream := testSubscription()
	s := u.s
	s.srv.projections = newProjections()
	s.srv.cfg.ProgressInterval = time.Second
	s.srv.cfg.Source = documentSource{apidoc.NewSet()}
	for _, c := range []*chronicle{big, small} {
		u := s.newSubscription(testPods.GroupResource(), scope.Scope{}, position{})
		u.log, u.view = c.log, testView(t, testRules[0])
		u.projection = s.srv.projections.of(c.log, u.view)
		s.subs = append(s.subs, u)
	}
	if err := s.subs[0].beginChanges(0); err != nil {
		t.Fatal(err)
	}
	reader, err := small.log.NewReader(100, s.subs[1], s.subs[1].view.Terms()...)
	if err != nil {
		t.Fatal(err)
	}
	s.subs[1].reader = reader
	s.subs[1].goLive(100)
	return &twofold{session: s, stream: stream, live: small}
}

// change makes something happen in the resource that the edge is live with.
func (f *twofold) change() {
	f.live.rev++
	f.live.commit(f.live.log.Snapshot().Plan([]watchlog.Op{{
		Key: "ns/s", Rev: f.live.rev, Object: f.live.object("s", "u", "n", fmt.Sprint(f.live.rev), f.live.rev),
	}}, f.live.rev))
}

// turn takes a turn, and returns the subscriptions of the batches that it sent.
func (f *twofold) turn(t *testing.T, k kind) (sent []uint32, more bool) {
	t.Helper()
	f.buf = make([]*watchlog.Event, 0, pageEvents)
	more, err := f.run(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range f.stream.sent {
		if b := m.GetBatch(); b != nil {
			sent = append(sent, b.GetSubscription())
		}
	}
	f.stream.sent = nil
	return sent, more
}

// TestLiveEventsGoBeforeCatchups: an urgent turn sends them alone, a bulk turn sends them first, and a turn is bounded.
func TestLiveEventsGoBeforeCatchups(t *testing.T) {
	f := newTwofold(t)
	f.turn(t, urgent)
	f.change()
	if sent, more := f.turn(t, urgent); !slices.Equal(sent, []uint32{2}) || !more {
		t.Errorf("an urgent turn: %v, more: %t", sent, more)
	}
	f.change()
	if sent, more := f.turn(t, bulk); !slices.Equal(sent, []uint32{2, 1}) || !more {
		t.Errorf("a bulk turn: %v, more: %t", sent, more)
	}
	if sent, more := f.turn(t, urgent); sent != nil || !more {
		t.Errorf("an urgent turn without anything new: %v, more: %t", sent, more)
	}
}

// TestNoTurnsForAnEdgeWithoutRoom: nothing is sent, nothing more is wanted, and what there was is kept in its order.
func TestNoTurnsForAnEdgeWithoutRoom(t *testing.T) {
	f := newTwofold(t)
	f.turn(t, urgent)
	f.srv.cfg.Window = f.sent - f.received.Load()
	f.change()
	for _, k := range []kind{urgent, bulk} {
		if sent, more := f.turn(t, k); sent != nil || more || !f.parked.Load() {
			t.Errorf("%v was sent, more: %t, parked: %t", sent, more, f.parked.Load())
		}
	}
	if err := f.send(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Drain{Drain: &tombolov1.Drain{}}}); err != nil {
		t.Fatal(err)
	}
	f.srv.cfg.Window = 1 << 30
	f.buf = make([]*watchlog.Event, 0, pageEvents)
	if _, err := f.run(t.Context(), urgent); err != nil {
		t.Fatal(err)
	}
	if n := len(f.stream.sent); n != 2 || f.stream.sent[0].GetDrain() == nil || f.stream.sent[1].GetBatch() == nil {
		t.Errorf("sent then: %v", f.stream.sent)
	}
}
