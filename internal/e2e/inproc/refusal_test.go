package inproc

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tombolo-sync/tombolo/cloudhub/syncsrv"
	"github.com/tombolo-sync/tombolo/edgehub"
	"github.com/tombolo-sync/tombolo/edgehub/session"
	"github.com/tombolo-sync/tombolo/internal/pki"
	"github.com/tombolo-sync/tombolo/internal/pki/pkitest"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// startTLSHub serves edges with mutual TLS.
func startTLSHub(t *testing.T, files pki.Files) string {
	t.Helper()
	cfg, err := files.Server()
	if err != nil {
		t.Fatal(err)
	}
	src := newFakeCloud(t).source()
	src.load()
	srv, err := syncsrv.New(syncsrv.Config{
		Source: src, Scopes: newScopes(t, allPods), Credentials: credentials.NewTLS(cfg), Logger: logger(t, "hub"),
	})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		srv.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return lis.Addr().String()
}

// runEdge runs an edge with an empty data directory until it gives up, or holds something.
func runEdge(t *testing.T, name string, creds credentials.TransportCredentials, hub string) error {
	t.Helper()
	agent, err := edgehub.New(edgehub.Config{
		Name: name, Hubs: []string{hub}, DataDir: t.TempDir(), Credentials: creds, Logger: logger(t, "edge"),
		MinBackoff: time.Millisecond, MaxBackoff: 10 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
			if agent.Ready() == nil {
				cancel()
			}
		}
	}
}

func client(t *testing.T, f pki.Files) credentials.TransportCredentials {
	t.Helper()
	cfg, err := f.Client()
	if err != nil {
		t.Fatal(err)
	}
	return credentials.NewTLS(cfg)
}

func TestAnEdgeThatWasSetUpWronglyIsRefusedWithOneReason(t *testing.T) {
	ca, other := pkitest.NewCA(t), pkitest.NewCA(t)
	hub := startTLSHub(t, ca.Issue(t, "hub"))
	good, foreign := ca.Issue(t, "edge-1"), other.Issue(t, "edge-1")
	if err := runEdge(t, "edge-1", client(t, good), hub); err != nil {
		t.Fatalf("rightly set up: %v", err)
	}
	for want, c := range map[string]struct {
		name  string
		creds credentials.TransportCredentials
	}{
		"unknown authority":                      {"edge-1", client(t, pki.Files{Cert: good.Cert, Key: good.Key, CA: foreign.CA})},
		"remote error: tls":                      {"edge-1", client(t, pki.Files{Cert: foreign.Cert, Key: foreign.Key, CA: good.CA})},
		`is for edge "edge-1", not for "edge-2"`: {"edge-2", client(t, good)},
	} {
		err := runEdge(t, c.name, c.creds, hub)
		if !errors.Is(err, session.ErrRefused) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestCertificateOfAnotherEdgeGetsNothing: the name that counts is the certificate's, and the stream is closed.
func TestCertificateOfAnotherEdgeGetsNothing(t *testing.T) {
	ca := pkitest.NewCA(t)
	hub := startTLSHub(t, ca.Issue(t, "hub"))
	conn, err := grpc.NewClient(hub, grpc.WithTransportCredentials(client(t, ca.Issue(t, "edge-1"))))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stream, err := tombolov1.NewSyncServiceClient(conn).Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hello := &tombolov1.Hello{Version: 1, Edge: "edge-2"}
	if err := stream.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Hello{Hello: hello}}); err != nil {
		t.Fatal(err)
	}
	if m, err := stream.Recv(); err == nil {
		t.Fatalf("got %v", m)
	}
}

// oldHub speaks a protocol version that no edge does.
type oldHub struct {
	tombolov1.UnimplementedSyncServiceServer
}

func (oldHub) Sync(stream tombolov1.SyncService_SyncServer) error {
	return stream.Send(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Welcome{
		Welcome: &tombolov1.Welcome{Version: 99, Epoch: "x"},
	}})
}

func TestHubOfAnotherVersionIsRefused(t *testing.T) {
	srv := grpc.NewServer()
	tombolov1.RegisterSyncServiceServer(srv, oldHub{})
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	defer func() {
		srv.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	err = runEdge(t, "edge-1", insecure.NewCredentials(), lis.Addr().String())
	if !errors.Is(err, session.ErrRefused) || !strings.Contains(err.Error(), "the hub speaks 99") {
		t.Fatal(err)
	}
}

func TestEdgeOfAnotherVersionIsRefused(t *testing.T) {
	src := newFakeCloud(t).source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	conn := dialRaw(t, hub)
	for want, m := range map[string]*tombolov1.SyncRequest{
		"upgrade the older":             {Message: &tombolov1.SyncRequest_Hello{Hello: &tombolov1.Hello{Version: 2, Edge: "e"}}},
		"must be a Hello":               {Message: &tombolov1.SyncRequest_Ack{Ack: &tombolov1.Ack{}}},
		`"" can't be an edge's name`:    {Message: &tombolov1.SyncRequest_Hello{Hello: &tombolov1.Hello{Version: 1}}},
		`"a,b" can't be an edge's name`: {Message: &tombolov1.SyncRequest_Hello{Hello: &tombolov1.Hello{Version: 1, Edge: "a,b"}}},
	} {
		stream, err := tombolov1.NewSyncServiceClient(conn).Sync(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestNewestSessionOfAnEdgeWins: an edge whose link broke without a word is not locked out by its own past.
func TestNewestSessionOfAnEdgeWins(t *testing.T) {
	c := newFakeCloud(t)
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	conn := dialRaw(t, hub)
	open := func() tombolov1.SyncService_SyncClient {
		s, err := tombolov1.NewSyncServiceClient(conn).Sync(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		hello := &tombolov1.Hello{Version: 1, Edge: "edge-1"}
		if err := s.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Hello{Hello: hello}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	last := open()
	for range 20 {
		next := open()
		var err error
		for err == nil {
			_, err = last.Recv()
		}
		if !strings.Contains(err.Error(), "newer session") {
			t.Fatalf("the older session ended with %v", err)
		}
		last = next
	}
	if _, err := last.Recv(); err != nil {
		t.Fatalf("the newest session: %v", err)
	}
}

// dialRaw returns a plain connection to a hub.
func dialRaw(t *testing.T, hub string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(hub, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestTwoEdgesUnderOneNameDoNotFlap: the newest wins, and the other one keeps away for a while.
func TestTwoEdgesUnderOneNameDoNotFlap(t *testing.T) {
	t.Parallel()
	c := newFakeCloud(t)
	c.put("a", "u1", "mine")
	src := c.source()
	src.load()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	counted := &countingListener{Listener: lis}
	serveHub(t, src, newScopes(t, allPods), counted)
	first := startEdge(t, t.TempDir(), lis.Addr().String())
	first.holds(c)
	second := startEdge(t, t.TempDir(), lis.Addr().String())
	second.holds(c)
	for range 20 { // each a chance for the first one to come back
		second.waitFor(c.bookmark())
	}
	if n := counted.accepted.Load(); n != 2 {
		t.Errorf("%d connections of two edges", n)
	}
	if live, _ := second.Contact(); !live {
		t.Error("the newest was thrown out")
	}
}
