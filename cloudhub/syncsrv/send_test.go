package syncsrv

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeStream keeps what is sent on it.
type fakeStream struct {
	tombolov1.SyncService_SyncServer
	sent []*tombolov1.SyncResponse
}

func (s *fakeStream) SendMsg(m any) error {
	raw := mem.BufferSlice(m.(encoded)) //nolint:forcetypeassert // nothing else is sent
	defer raw.Free()
	sent := &tombolov1.SyncResponse{}
	if err := proto.Unmarshal(raw.Materialize(), sent); err != nil {
		return err
	}
	s.sent = append(s.sent, sent)
	return nil
}

func (*fakeStream) Recv() (*tombolov1.SyncRequest, error) { return nil, context.Canceled }

func testSubscription() (*subscription, *fakeStream) {
	stream := &fakeStream{}
	srv := &Server{
		cfg: Config{Window: 1 << 30}, log: slog.New(slog.DiscardHandler), metrics: newMetrics(prometheus.NewRegistry()),
	}
	s := newSession(context.Background(), srv, stream, "edge-1", &tombolov1.Hello{}, func(error) {})
	s.hello, s.tickAt = nil, time.Now().Add(time.Hour)
	return &subscription{s: s, id: 1}, stream
}

func ops(revs ...uint64) (out []*tombolov1.Operation) {
	for _, rev := range revs {
		out = append(out, &tombolov1.Operation{
			Type: tombolov1.OperationType_OPERATION_TYPE_PUT, Rev: rev, Data: make([]byte, batchBytes/2+1),
		})
	}
	return out
}

// TestSendRunCutsWhereAPositionEnds: each part of an exact step stands for itself, unless it would tear apart what has
// one position; the parts of any other step belong together.
func TestSendRunCutsWhereAPositionEnds(t *testing.T) {
	for name, c := range map[string]struct {
		more    bool
		gapFrom uint64
		want    []string
	}{
		"exact":  {false, 0, []string{"[5] upto 5", "[6] upto 6 more", "[6] upto 6", "[8] upto 9"}},
		"gapped": {false, 3, []string{"[5] upto 5 more", "[6] upto 6 more", "[6] upto 6 more", "[8] upto 9"}},
		"staged": {true, 0, []string{"[5] upto 5 more", "[6] upto 6 more", "[6] upto 6 more", "[8] upto 9 more"}},
	} {
		u, stream := testSubscription()
		if err := u.sendRun(newRun(ops(5, 6, 6, 8), false), batch{upto: 9, more: c.more, gapFrom: c.gapFrom}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range stream.sent {
			b := m.GetBatch()
			var revs []uint64
			for _, op := range b.GetOperations() {
				revs = append(revs, op.GetRev())
			}
			text := fmt.Sprint(revs, " upto ", b.GetUptoRev())
			if b.GetMore() {
				text += " more"
			}
			got = append(got, text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		total := 0
		for _, m := range stream.sent {
			total += proto.Size(m)
		}
		if u.s.sent != int64(total) || u.s.taken != u.s.written.Load() {
			t.Errorf("%s: %d bytes sent of %d, %d of %d written", name, u.s.sent, total, u.s.written.Load(), u.s.taken)
		}
	}
}

// TestObjectThatCannotBeSentStopsItsResourceAlone: the session goes on, and the edge is told why.
func TestObjectThatCannotBeSentStopsItsResourceAlone(t *testing.T) {
	res := &watchlog.Resource{Version: "v1", Name: "pods", Namespaced: true}
	big, err := watchlog.NewDecoder(res).Decode(fmt.Appendf(nil,
		`{"metadata":{"name":"big","namespace":"ns","resourceVersion":"5"},"data":"%s"}`, strings.Repeat("x", maxObject)))
	if err != nil {
		t.Fatal(err)
	}
	u, stream := testSubscription()
	u.log, u.phase, u.catchup = watchlog.New(res, watchlog.Config{}), changing, &catchup{objects: []*watchlog.Object{big}}
	if _, err := u.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := stream.sent[len(stream.sent)-1].GetSubscription()
	if time.Until(u.retryAt) < tooLargeDelay/2 {
		t.Errorf("what was sent before is sent again in %v", time.Until(u.retryAt))
	}
	if u.phase != failed || !m.GetUnavailable() || !strings.Contains(m.GetReason(), "ns/big has") {
		t.Errorf("phase %d, told %v", u.phase, m)
	}
}

func TestCutTakesAtLeastOne(t *testing.T) {
	big := []*tombolov1.Operation{{Data: make([]byte, 3*batchBytes)}, {}}
	if n := cut(big); n != 1 {
		t.Errorf("%d operations", n)
	}
	if n := cut(nil); n != 0 {
		t.Errorf("%d of nothing", n)
	}
}

// FuzzHandle: whatever an edge sends after its hello, the session goes on or ends; it does not fall.
func FuzzHandle(f *testing.F) {
	for _, m := range []*tombolov1.SyncRequest{
		{Message: &tombolov1.SyncRequest_Ack{Ack: &tombolov1.Ack{Subscription: 1, Rev: 1 << 63, ReceivedBytes: 1 << 63}}},
		{Message: &tombolov1.SyncRequest_Inventory{Inventory: &tombolov1.Inventory{Subscription: 1, Items: []*tombolov1.Item{nil, {Key: "a"}}}}},
	} {
		raw, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := &tombolov1.SyncRequest{}
		if proto.Unmarshal(raw, m) != nil {
			return
		}
		u, _ := testSubscription()
		u.s.subs = append(u.s.subs, u)
		if u.s.handle(m) != nil {
			return
		}
		for _, l := range u.s.mail {
			if err := l.do(t.Context()); err != nil {
				return // the session has ended
			}
		}
		if u.s.received.Load() < 0 {
			t.Fatal("a negative number of bytes")
		}
	})
}
