package inproc

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// rawEdge is an edge's stream in a test's hands.
type rawEdge struct {
	tombolov1.SyncService_SyncClient
	t *testing.T
}

func joinRaw(t *testing.T, hub string) *rawEdge {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+hub, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	stream, err := tombolov1.NewSyncServiceClient(conn).Sync(ctx)
	if err != nil {
		t.Fatal(err)
	}
	e := &rawEdge{stream, t}
	e.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Hello{Hello: &tombolov1.Hello{Version: 1, Edge: "edge-1"}}})
	return e
}

func (e *rawEdge) say(m *tombolov1.SyncRequest) {
	e.t.Helper()
	if err := e.Send(m); err != nil {
		e.t.Fatal(err)
	}
}

func (e *rawEdge) ask(q *tombolov1.Question) {
	e.t.Helper()
	e.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Question{Question: q}})
}

// until returns the first message that is wanted.
func (e *rawEdge) until(wanted func(*tombolov1.SyncResponse) bool) *tombolov1.SyncResponse {
	e.t.Helper()
	for {
		m, err := e.Recv()
		if err != nil {
			e.t.Fatal(err)
		}
		if wanted(m) {
			return m
		}
	}
}

func (e *rawEdge) answer() *tombolov1.Answer {
	e.t.Helper()
	return e.until(func(m *tombolov1.SyncResponse) bool { return m.GetAnswer() != nil }).GetAnswer()
}

// live brings pods up and returns their subscription.
func (e *rawEdge) live() uint32 {
	e.t.Helper()
	id := e.until(func(m *tombolov1.SyncResponse) bool {
		return m.GetSubscription().GetPlan() == tombolov1.Plan_PLAN_CHANGES
	}).GetSubscription().GetId()
	rev := e.until(func(m *tombolov1.SyncResponse) bool { return m.GetCheckpoint() != nil }).GetCheckpoint().GetRev()
	e.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ack{Ack: &tombolov1.Ack{Subscription: id, Rev: rev}}})
	return id
}

// TestFloodOfQuestionsIsBounded: an edge that asks nonsense, or too much, is told so each time, costs the source a bounded
// number of proofs, and keeps its session.
func TestFloodOfQuestionsIsBounded(t *testing.T) {
	c := newFakeCloud(t)
	src := &proving{fakeSource: c.source()}
	src.answer(func(ctx context.Context, _ source.Part, _ uint64) (uint64, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	})
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	e := joinRaw(t, hub)
	sub := e.live()
	for i, q := range []*tombolov1.Question{
		{Subscription: sub + 1}, {Subscription: sub, LabelSelector: "a b c"}, {Subscription: sub, FieldSelector: "a"},
		{Subscription: sub, LabelSelector: string(make([]byte, 20<<10))},
	} {
		q.Id = uint64(i)
		e.ask(q)
		if a := e.answer(); a.GetId() != q.GetId() || a.GetFailure() == "" {
			t.Errorf("question %d: %v", i, a)
		}
	}
	const flood = 300
	for i := range flood {
		e.ask(&tombolov1.Question{Id: uint64(100 + i), Subscription: sub})
	}
	for range flood {
		if a := e.answer(); a.GetFailure() == "" {
			t.Errorf("proved: %v", a)
		}
	}
	if n := len(src.asked()); n == 0 || n > 64 {
		t.Errorf("%d proofs", n)
	}
	src.answer(func(context.Context, source.Part, uint64) (uint64, error) { return src.log.Rev(), nil })
	e.ask(&tombolov1.Question{Id: 1000, Subscription: sub})
	if a := e.answer(); a.GetId() != 1000 || a.GetFailure() != "" || a.GetRev() < src.log.Rev() {
		t.Errorf("after the flood: %v", a)
	}
}
