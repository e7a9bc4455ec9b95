package inproc

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// relay passes sessions on to a hub, after a change to each Hello.
type relay struct {
	tombolov1.UnimplementedSyncServiceServer
	edit func(*tombolov1.Hello)
	last func(*tombolov1.SyncResponse) bool // tells what ends a session that brings it; nil: nothing does

	mu      sync.Mutex // guards all below up to readers
	hub     string
	broken  bool
	end     context.CancelFunc // of the newest session
	readers sync.WaitGroup
	resumed atomic.Int64 // positions that Welcomes have resumed
	agreed  atomic.Int64 // and those that they agreed with
}

// startRelay returns a relay and its address.
func startRelay(t *testing.T, hub string, edit func(*tombolov1.Hello)) (*relay, string) {
	t.Helper()
	r := &relay{hub: hub, edit: edit}
	srv := grpc.NewServer()
	tombolov1.RegisterSyncServiceServer(srv, r)
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	t.Cleanup(func() {
		srv.Stop()
		r.readers.Wait()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return r, lis.Addr().String()
}

// cut breaks the link.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = true
	r.end()
}

// mend takes a cut back.
func (r *relay) mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = false
}

// begin takes note of a session, and fails while the link is broken.
func (r *relay) begin(end context.CancelFunc) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken {
		return status.Error(codes.Unavailable, "the link is broken")
	}
	r.end = end
	return nil
}

func (r *relay) Sync(down tombolov1.SyncService_SyncServer) error {
	r.mu.Lock()
	hub := r.hub
	r.mu.Unlock()
	conn, err := grpc.NewClient("passthrough:///"+hub, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing is under way any more
	ctx, cancel := context.WithCancel(down.Context())
	defer cancel()
	if err := r.begin(cancel); err != nil {
		return err
	}
	up, err := tombolov1.NewSyncServiceClient(conn).Sync(ctx)
	if err != nil {
		return err
	}
	r.readers.Go(func() {
		defer cancel()
		for {
			m, err := down.Recv()
			if err != nil {
				return
			}
			if h := m.GetHello(); h != nil {
				r.edit(h)
			}
			if up.Send(m) != nil {
				return
			}
		}
	})
	for {
		m, err := up.Recv()
		if err != nil {
			return err
		}
		r.resumed.Add(int64(len(m.GetWelcome().GetResumed())))
		r.agreed.Add(int64(len(m.GetWelcome().GetAgreed())))
		if err := down.Send(m); err != nil {
			return err
		}
		if r.last != nil && r.last(m) {
			return status.Error(codes.Unavailable, "the link broke")
		}
	}
}

// lead has the sessions that come go to another hub.
func (r *relay) lead(hub string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hub = hub
}

// asItIs leaves a Hello alone.
func asItIs(*tombolov1.Hello) {}

// bySubscription makes a Hello that of an edge which does not know of resumes in the Welcome.
func bySubscription(h *tombolov1.Hello) { without(h, tombolov1.Capability_CAPABILITY_RESUMED) }

// eager makes a Hello that of an edge which does not know of acks that may wait.
func eager(h *tombolov1.Hello) { without(h, tombolov1.Capability_CAPABILITY_LAZY_ACKS) }

func without(h *tombolov1.Hello, gone tombolov1.Capability) {
	h.Capabilities = slices.DeleteFunc(h.GetCapabilities(), func(c tombolov1.Capability) bool { return c == gone })
}

// untold makes a Hello that of an edge which does not say what it holds, but for how far it is.
func untold(h *tombolov1.Hello) {
	for _, p := range h.GetPositions() {
		p.Count, p.Digest = 0, nil
	}
}
