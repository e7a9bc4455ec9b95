package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/edgehub/store"
	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// recordedStream keeps what is sent.
type recordedStream struct {
	grpc.ClientStream
	mu   sync.Mutex
	sent []*tombolov1.SyncRequest // guarded by mu
}

func (r *recordedStream) Send(m *tombolov1.SyncRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, proto.CloneOf(m))
	return nil
}

func (*recordedStream) Recv() (*tombolov1.SyncResponse, error) { return nil, errBroken }

// acks returns the acks sent since the last call.
func (r *recordedStream) acks() (acks []*tombolov1.Ack) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.sent {
		if a := m.GetAck(); a != nil {
			acks = append(acks, a)
		}
	}
	r.sent = nil
	return acks
}

// hubSide is a session that a test sends messages to, in a bubble of synctest.
type hubSide struct {
	s      *session
	stream *recordedStream
	in     chan *tombolov1.SyncResponse
	bytes  uint64 // sent
}

// applying runs a session with pods as subscription 1 and secrets as 2, at position 10, as long as f does. It looks every beat
// whether the hub is there.
func applying(t *testing.T, beat time.Duration, f func(h *hubSide)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := twoResources(t, store.Options{})
		h := &hubSide{s: s, stream: &recordedStream{}, in: make(chan *tombolov1.SyncResponse)}
		s.stream, s.welcomed, s.progress, s.agreed.lazy = h.stream, true, beat, true
		s.openDesk()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := s.apply(ctx, h.in)
			ended <- err
		}()
		f(h)
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// say sends a message and waits until the session has nothing more to do.
func (h *hubSide) say(m *tombolov1.SyncResponse) {
	h.bytes += uint64(proto.Size(m)) //nolint:gosec // not negative
	h.in <- m
	synctest.Wait()
}

// event sends a change of one object.
func (h *hubSide) event(subscription uint32, rev uint64, prompt bool) {
	h.say(batchOf(&tombolov1.Batch{
		Subscription: subscription, Operations: []*tombolov1.Operation{thing("a", rev)}, UptoRev: rev, Prompt: prompt,
	}))
}

func batchOf(b *tombolov1.Batch) *tombolov1.SyncResponse {
	return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Batch{Batch: b}}
}

// TestAcksWait: what happens now and then costs one ack in a while, for all subscriptions together.
func TestAcksWait(t *testing.T) {
	applying(t, 24*time.Hour, func(h *hubSide) {
		h.event(1, 12, false)
		time.Sleep(time.Second)
		h.event(2, 13, false)
		h.event(1, 14, false)
		if got := h.stream.acks(); len(got) != 0 {
			t.Fatalf("acknowledged at once: %v", got)
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		got := h.stream.acks()
		if len(got) != 1 {
			t.Fatalf("%d acks: %v", len(got), got)
		}
		want := &tombolov1.Ack{
			Subscription: 1, Rev: 14, ReceivedBytes: h.bytes, Also: []*tombolov1.Durable{{Subscription: 2, Rev: 13}},
		}
		if !proto.Equal(got[0], want) {
			t.Errorf("acknowledged %v, want %v", got[0], want)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := h.stream.acks(); len(got) != 0 {
			t.Errorf("acknowledged again: %v", got)
		}
	})
}

// TestAckAtOnce: of a batch that is prompt, with all that waits; and once there are many bytes.
func TestAckAtOnce(t *testing.T) {
	applying(t, 24*time.Hour, func(h *hubSide) {
		h.event(2, 12, false)
		h.event(1, 13, true)
		got := h.stream.acks()
		if len(got) != 1 || got[0].GetReceivedBytes() != h.bytes || len(got[0].GetAlso()) != 1 {
			t.Fatalf("of a prompt batch: %v", got)
		}
		rev, before := uint64(13), h.bytes
		for h.bytes-before < ackBytes {
			if got := h.stream.acks(); len(got) != 0 {
				t.Fatalf("after %d bytes: %v", h.bytes-before, got)
			}
			rev++
			h.event(1, rev, false)
		}
		if got := h.stream.acks(); len(got) != 1 || got[0].GetRev() != rev || got[0].GetReceivedBytes() != h.bytes {
			t.Errorf("after %d bytes: %v", h.bytes-before, got)
		}
	})
}

// TestEagerAcks: a hub that does not know of acks that may wait gets one at once for each position, and no report.
func TestEagerAcks(t *testing.T) {
	applying(t, 5*time.Second, func(h *hubSide) {
		h.s.agreed.lazy = false
		for i, id := range []uint32{1, 2} {
			rev := uint64(12 + i) //nolint:gosec // small
			h.event(id, rev, false)
			got := h.stream.acks()
			if want := (&tombolov1.Ack{Subscription: id, Rev: rev, ReceivedBytes: h.bytes}); len(got) != 1 || !proto.Equal(got[0], want) {
				t.Errorf("acknowledged %v, want %v", got, want)
			}
		}
		for range 2 {
			h.say(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Progress{Progress: &tombolov1.Progress{}}})
			h.s.c.hears(time.Now())
			time.Sleep(5 * time.Second)
			synctest.Wait()
		}
		if got := h.stream.reports(); len(got) != 0 {
			t.Errorf("reported %v", got)
		}
	})
}

// TestOnePositionAnAck: several that are due at once go one by one when they have to.
func TestOnePositionAnAck(t *testing.T) {
	a := newAcks()
	for id := range uint32(4) {
		a.note(id+1, uint64(id)+10)
	}
	acks := a.take(false, func(id uint32) bool { return id != 2 })
	if len(acks) != 3 || acks[2].GetSubscription() != 4 || acks[2].GetRev() != 13 {
		t.Errorf("%v", acks)
	}
	for _, m := range acks {
		if len(m.GetAlso()) > 0 {
			t.Errorf("of several: %v", m)
		}
	}
}

// TestQuietIsNotAcknowledged: positions that moved without an event cost nothing upwards.
func TestQuietIsNotAcknowledged(t *testing.T) {
	applying(t, 24*time.Hour, func(h *hubSide) {
		for rev := uint64(20); rev < 120; rev++ {
			h.say(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Progress{Progress: &tombolov1.Progress{
				Advances: []*tombolov1.Advance{{Subscription: 1, Rev: rev}},
			}}})
			time.Sleep(5 * time.Second)
		}
		synctest.Wait()
		if got := h.stream.acks(); len(got) != 0 {
			t.Errorf("acknowledged: %v", got)
		}
	})
}

// TestCatchUpIsAcknowledgedAtOnce: its parts by their bytes, its end by its position.
func TestCatchUpIsAcknowledgedAtOnce(t *testing.T) {
	applying(t, 24*time.Hour, func(h *hubSide) {
		h.say(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Subscription{Subscription: &tombolov1.Subscription{
			Resource: &tombolov1.Resource{Resource: "pods"}, Id: 7, View: "other", Plan: tombolov1.Plan_PLAN_CHANGES,
			Info: &tombolov1.ResourceInfo{Version: "v1", Kind: "Thing", Namespaced: true},
		}}})
		var d delta.Digest
		for rev := uint64(11); rev < 14; rev++ {
			op := thing(fmt.Sprint("o", rev), rev)
			o, err := h.s.c.replicas[h.s.ids[7].gr].log.Decoder().DecodeRow(op.GetData(), nil)
			if err != nil {
				t.Fatal(err)
			}
			d.Add(o)
			h.say(batchOf(&tombolov1.Batch{
				Subscription: 7, Operations: []*tombolov1.Operation{op}, UptoRev: rev, More: true, GapFrom: 10,
			}))
			if got := h.stream.acks(); len(got) != 1 || got[0].GetRev() != 0 || got[0].GetReceivedBytes() != h.bytes {
				t.Errorf("part up to %d: %v", rev, got)
			}
		}
		h.say(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Checkpoint{Checkpoint: &tombolov1.Checkpoint{
			Subscription: 7, Rev: 20, Count: d.Count, Digest: d.Bytes(),
		}}})
		if got := h.stream.acks(); len(got) != 1 || got[0].GetSubscription() != 7 || got[0].GetRev() != 20 {
			t.Errorf("its end: %v", got)
		}
	})
}

// TestAckLeavesOutOldNumbers: the hub has given them up, and an ack under one could be taken for another's.
func TestAckLeavesOutOldNumbers(t *testing.T) {
	a := newAcks()
	a.note(3, 10)
	a.note(4, 11)
	a.note(5, 12)
	got := a.take(true, func(id uint32) bool { return id != 3 })[0]
	if got.GetSubscription() != 4 || got.GetRev() != 11 || len(got.GetAlso()) != 1 || slices.Contains(a.durable, got.GetAlso()[0]) {
		t.Errorf("%v, left %v", got, a.durable)
	}
}
