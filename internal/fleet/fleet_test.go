package fleet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// authority is a CA in files.
type authority struct {
	cert, key string
	ca        *x509.Certificate
	sign      *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	dir := t.TempDir()
	a := &authority{cert: filepath.Join(dir, "ca.pem"), key: filepath.Join(dir, "key.pem")}
	var err error
	if a.sign, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	der := a.issue(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, a.sign)
	if a.ca, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalECPrivateKey(a.sign)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{a.cert: {Type: "CERTIFICATE", Bytes: der}, a.key: {Type: "EC PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// issue signs a certificate of a key.
func (a *authority) issue(t *testing.T, c *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	c.SerialNumber, c.Subject = big.NewInt(1), pkix.Name{CommonName: "test"}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent := a.ca
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, a.sign)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// serving is how a hub serves.
func (a *authority) serving(t *testing.T) *tls.Config {
	t.Helper()
	der := a.issue(t, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, a.sign)
	pool := x509.NewCertPool()
	pool.AddCert(a.ca)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: a.sign}},
		ClientCAs:    pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13,
	}
}

// fakeHub is a hub that refuses some sessions, and then syncs two pods and keeps still.
type fakeHub struct {
	tombolov1.UnimplementedSyncServiceServer
	t        *testing.T
	refuse   atomic.Int64
	accepted atomic.Int64 // connections
	resumed  atomic.Int64 // sessions on TLS sessions that were resumed
}

func (h *fakeHub) Sync(s tombolov1.SyncService_SyncServer) error {
	if h.refuse.Add(-1) >= 0 {
		busy, err := status.New(codes.ResourceExhausted, "busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Millisecond)})
		if err != nil {
			return err
		}
		return busy.Err()
	}
	if p, ok := peer.FromContext(s.Context()); ok {
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && info.State.DidResume {
			h.resumed.Add(1)
		}
	}
	hello, err := s.Recv()
	if err != nil {
		return err
	}
	messages := synced(h.t)
	if p := hello.GetHello().GetPositions(); len(p) > 0 {
		messages = []*tombolov1.SyncResponse{welcome(), subscribe(tombolov1.Plan_PLAN_RESUME), check(h.t, p[0].GetRev(), map[string]uint64{"a": 5, "b": 6})}
	}
	for _, m := range messages {
		if err := s.Send(m); err != nil {
			return err
		}
	}
	for err == nil {
		_, err = s.Recv()
	}
	return err
}

// countingListener counts connections.
type countingListener struct {
	net.Listener
	n *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.n.Add(1)
	}
	return c, err
}

// start serves the hub and runs edges of it, until the test ends.
func (h *fakeHub) start(cfg Config, a *authority) *Fleet {
	h.t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	var options []grpc.ServerOption
	if a != nil {
		issuer, err := NewIssuer(a.cert, a.key)
		if err != nil {
			h.t.Fatal(err)
		}
		cfg.TLS = issuer.TLS
		options = append(options, grpc.Creds(credentials.NewTLS(a.serving(h.t))))
	}
	srv := grpc.NewServer(options...)
	tombolov1.RegisterSyncServiceServer(srv, h)
	cfg.Hubs, cfg.MinBackoff, cfg.MaxBackoff = []string{lis.Addr().String()}, time.Millisecond, time.Millisecond
	f, err := New(cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	served, ran := make(chan error, 1), make(chan error, 1)
	go func() { served <- srv.Serve(countingListener{lis, &h.accepted}) }()
	go func() { ran <- f.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		if err := <-ran; err != nil {
			h.t.Error(err)
		}
		srv.Stop()
		if err := <-served; err != nil {
			h.t.Error(err)
		}
	})
	return f
}

// await waits until the fleet is as it should be.
func await(t *testing.T, f *Fleet, what string, ok func(Stats) bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(f.Stats()); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: %+v", what, f.Stats())
		}
	}
}

func TestARefusedEdgeKeepsItsConnection(t *testing.T) {
	h := &fakeHub{t: t}
	h.refuse.Store(5)
	f := h.start(Config{Edges: 3}, nil)
	await(t, f, "caught up", func(s Stats) bool { return s.Live == 3 })
	if n := h.accepted.Load(); n != 3 {
		t.Errorf("3 edges made %d connections", n)
	}
	if s := f.Stats(); s.Failures["ResourceExhausted"] != 5 || s.Sessions != 3 {
		t.Errorf("%+v", s)
	}
}

func TestEdgesThatAreCutComeBackWithTheirTLSSession(t *testing.T) {
	h := &fakeHub{t: t}
	f := h.start(Config{Edges: 3}, newAuthority(t))
	await(t, f, "caught up", func(s Stats) bool { return s.Live == 3 })
	f.Cut()
	await(t, f, "caught up again", func(s Stats) bool { return s.Sessions == 6 && s.Live == 3 })
	s := f.Stats()
	if h.resumed.Load() != 3 || s.Mismatches != 0 || s.Operations != 6 || s.Plans["PLAN_RESUME"] != 3 {
		t.Errorf("%d TLS sessions were resumed, %+v", h.resumed.Load(), s)
	}
	if s.WireIn <= s.BytesIn || s.WireOut <= s.BytesOut {
		t.Errorf("%+v", s)
	}
}

func TestStuckEdgesStay(t *testing.T) {
	f := (&fakeHub{t: t}).start(Config{Edges: 3, Stuck: 2}, nil)
	await(t, f, "stuck", func(s Stats) bool { return s.Stuck == 2 && s.Live == 3 })
	if s := f.Stats(); s.Ended != 0 {
		t.Errorf("%+v", s)
	}
}

// TestTheClockLooksAfterEdges: whose ack is due is woken, whose hub is silent is cut off.
func TestTheClockLooksAfterEdges(t *testing.T) {
	h := &fakeHub{t: t}
	f := h.start(Config{Edges: 1}, nil)
	await(t, f, "caught up", func(s Stats) bool { return s.Live == 1 })
	e, before := f.edges[0], f.Stats()
	e.due.Store(1)
	await(t, f, "an ack", func(s Stats) bool { return s.BytesOut > before.BytesOut })
	if f.Stats().Ended != 0 {
		t.Error("the session has ended")
	}
	e.lost.Store(1)
	await(t, f, "another session", func(s Stats) bool { return s.Sessions == 2 && s.Live == 1 })
}
