//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// hello opens a session as an edge that holds nothing, and returns it once the hub welcomed it. A hub
// that is asked too fast says so, and is asked again, as an edge would.
func hello(ctx context.Context, conn *grpc.ClientConn, edge string) (tombolov1.SyncService_SyncClient, error) {
	for {
		stream, err := greet(ctx, conn, edge)
		if status.Code(err) != codes.ResourceExhausted {
			return stream, err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func greet(ctx context.Context, conn *grpc.ClientConn, edge string) (tombolov1.SyncService_SyncClient, error) {
	stream, err := tombolov1.NewSyncServiceClient(conn).Sync(ctx)
	if err != nil {
		return nil, err
	}
	request := &tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Hello{Hello: &tombolov1.Hello{Version: 1, Edge: edge}}}
	if err := stream.Send(request); err != nil && !errors.Is(err, io.EOF) { // EOF: Recv tells why
		return nil, err
	}
	answer, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	if answer.GetWelcome() == nil {
		return nil, fmt.Errorf("%s is answered with %v", edge, answer)
	}
	return stream, nil
}

func dialHub(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// connectAndLeave opens n sessions, one after the other on each of eight connections, and leaves each.
func connectAndLeave(t *testing.T, addr string, n int, name func(i int) string) {
	t.Helper()
	conns := make([]*grpc.ClientConn, 8)
	for i := range conns {
		conns[i] = dialHub(t, addr)
	}
	concurrently(n, func(i int) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := hello(ctx, conns[i%8], name(i))
		if err != nil && status.Code(err) != codes.Aborted { // a newer one of the same name came
			t.Error(err)
		}
	})
	for _, conn := range conns {
		_ = conn.Close()
	}
}

// TestReconnectsLeakNothing has a thousand reconnects of one edge, and a thousand edges that never come back.
func TestReconnectsLeakNothing(t *testing.T) {
	s := newSite(t, hubConfig{})
	s.fill(100, 1000)
	once := func() {
		connectAndLeave(t, s.hub.sync, 1000, func(int) string { return "edge-restless" })
		connectAndLeave(t, s.hub.sync, 1000, func(i int) string { return fmt.Sprintf("edge-gone-%d", i) })
		awaitMetric(t, s.hub.http, "tombolo_hub_sessions", func(v float64) bool { return v == 1 }) // our edge's
	}
	once()
	goroutines := mustMetric(t, s.hub.http, "go_goroutines")
	resident := mustMetric(t, s.hub.http, "process_resident_memory_bytes")
	once()
	awaitMetric(t, s.hub.http, "go_goroutines", func(v float64) bool { return v <= goroutines+10 })
	awaitMetric(t, s.hub.http, "process_resident_memory_bytes", func(v float64) bool { return v <= 1.25*resident+(8<<20) })
}

// TestEdgeReconnectsLeakNothing breaks an edge's link again and again.
func TestEdgeReconnectsLeakNothing(t *testing.T) {
	s := newSite(t, hubConfig{})
	s.fill(100, 1000)
	reconnect := func(times int) {
		for range times {
			sessions := mustMetric(t, s.edge.http, "tombolo_edge_sessions_total")
			s.link.Reset()
			awaitMetric(t, s.edge.http, "tombolo_edge_sessions_total", func(v float64) bool { return v > sessions })
			s.edge.awaitContact(true)
		}
	}
	reconnect(20)
	before := map[string]float64{}
	for _, at := range []string{s.edge.http, s.hub.http} {
		before[at] = mustMetric(t, at, "go_goroutines")
	}
	reconnect(30)
	for at, goroutines := range before {
		awaitMetric(t, at, "go_goroutines", func(v float64) bool { return v <= goroutines+10 })
	}
}

// TestFastReconnectsOfOneEdgeKeepTheNewest opens a hundred sessions of one edge in a row without leaving any.
func TestFastReconnectsOfOneEdgeKeepTheNewest(t *testing.T) {
	s := newSite(t, hubConfig{})
	conn := dialHub(t, s.hub.sync)
	var newest tombolov1.SyncService_SyncClient
	for range 100 {
		var err error
		if newest, err = hello(t.Context(), conn, "edge-hasty"); err != nil {
			t.Fatal(err)
		}
	}
	awaitMetric(t, s.hub.http, "tombolo_hub_sessions", func(v float64) bool { return v == 2 })
	if _, err := newest.Recv(); err != nil {
		t.Errorf("the newest session is ended: %v", err)
	}
}
