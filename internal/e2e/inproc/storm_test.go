package inproc

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// busyHub refuses the first sessions, and says when to come again.
type busyHub struct {
	scriptedHub
	refuse   int32
	attempts atomic.Int32
}

func (h *busyHub) Sync(stream tombolov1.SyncService_SyncServer) error {
	if h.attempts.Add(1) > h.refuse {
		return h.scriptedHub.Sync(stream)
	}
	s, err := status.New(codes.ResourceExhausted, "too much to do").WithDetails(
		&errdetails.RetryInfo{RetryDelay: durationpb.New(20 * time.Millisecond)})
	if err != nil {
		return err
	}
	return s.Err()
}

// TestBusyHubIsAskedAgainOnTheSameConnection has a hub put an edge off: it comes back when it was told to, and does not
// pay for another handshake.
func TestBusyHubIsAskedAgainOnTheSameConnection(t *testing.T) {
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	lis := &countingListener{Listener: inner}
	h := &busyHub{refuse: 3}
	h.script, h.ended, h.acks = func(func(*tombolov1.SyncResponse)) {}, make(chan struct{}), make(chan *tombolov1.Ack, 64)
	srv := grpc.NewServer()
	tombolov1.RegisterSyncServiceServer(srv, h)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	e := startEdge(t, t.TempDir(), lis.Addr().String())
	e.waitFor(100)
	if attempts, conns := h.attempts.Load(), lis.accepted.Load(); attempts != 4 || conns != 1 {
		t.Errorf("%d attempts over %d connections", attempts, conns)
	}
}

// TestWhatHappensMeanwhileGoesTogether: while an edge has not taken one event, those that follow wait and come as one
// batch. No event waits for the ack of an edge that never sends one.
func TestWhatHappensMeanwhileGoesTogether(t *testing.T) {
	c := newFakeCloud(t)
	c.put("a", "u", "n")
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	e := joinRaw(t, hub)
	id := e.live()
	nextBatch := func() *tombolov1.Batch {
		return e.until(func(m *tombolov1.SyncResponse) bool { return len(m.GetBatch().GetOperations()) > 0 }).GetBatch()
	}
	for round := range 2 {
		c.put("a", "u", "n")
		first := nextBatch()
		const events = 40
		var last uint64
		for range events {
			last = c.put("a", "u", "n")
		}
		if round == 1 { // this time it is taken
			e.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ack{Ack: &tombolov1.Ack{
				Subscription: id, Rev: first.GetUptoRev(), ReceivedBytes: 1 << 40,
			}}})
		}
		batches := 0
		for upto := uint64(0); upto < last; batches++ {
			upto = nextBatch().GetUptoRev()
		}
		if batches > events/4 {
			t.Errorf("round %d: %d batches for %d events", round, batches, events)
		}
	}
}
