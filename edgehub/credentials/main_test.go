package credentials

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/tombolo-sync/tombolo/internal/pki"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeHub gives certificates to whoever asks.
type fakeHub struct {
	tombolov1.UnimplementedJoinServiceServer
	t    *testing.T
	addr string
	ttl  time.Duration

	mu          sync.Mutex // guards all below
	ca          *x509.Certificate
	caKey       *ecdsa.PrivateKey
	authorities []*x509.Certificate // that edges are told
	edge        string              // whom certificates are for
	lose        int                 // answers that get lost from now on
	refuse      codes.Code          // what a request is refused with, unless OK
	checkCode   codes.Code
	renew       bool
	keys        []any // of the requests, in their order
	serial      int64
	pinned      bool // the last handshake asked for the authorities
}

func newFakeHub(t *testing.T) *fakeHub {
	t.Helper()
	h := &fakeHub{t: t, ttl: time.Hour, edge: "edge-1"}
	h.newAuthority()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.addr = lis.Addr().String()
	cfg := &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequestClientCert, GetCertificate: h.certificate}
	srv := grpc.NewServer(grpc.Creds(credentials.NewTLS(cfg)))
	tombolov1.RegisterJoinServiceServer(srv, h)
	var running sync.WaitGroup
	running.Go(func() { _ = srv.Serve(lis) })
	t.Cleanup(func() { srv.Stop(); running.Wait() })
	return h
}

// newAuthority makes the hub be of another authority, which it tells edges.
func (h *fakeHub) newAuthority() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.caKey = generate(h.t)
	h.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(h.serial), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(3 * time.Hour),
	}
	h.ca = sign(h.t, template, template, h.caKey.Public(), h.caKey)
	h.authorities = append(h.authorities, h.ca)
}

func generate(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, template, parent *x509.Certificate, public any, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		t.Error(err)
		return parent
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Error(err)
	}
	return cert
}

// certificate is the hub's own. It has begun this minute.
func (h *fakeHub) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.serial++
	key := generate(h.t)
	leaf := sign(h.t, &x509.Certificate{
		SerialNumber: big.NewInt(h.serial), Subject: pkix.Name{CommonName: "hub"}, NotBefore: time.Now().Add(-time.Minute),
		NotAfter: time.Now().Add(2 * time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, h.ca, key.Public(), h.caKey)
	cert := &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}
	h.pinned = len(hello.SupportedProtos) > 0 && hello.SupportedProtos[0] == pki.PinProtocol
	if h.pinned {
		cert.Certificate = append(cert.Certificate, h.ca.Raw)
	}
	return cert, nil
}

// set changes how the hub behaves.
func (h *fakeHub) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

func (h *fakeHub) issue(der []byte) (*tombolov1.Credential, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuse != codes.OK {
		return nil, status.Error(h.refuse, "so it is told")
	}
	r, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	h.keys = append(h.keys, r.PublicKey)
	if h.lose > 0 {
		h.lose--
		return nil, status.Error(codes.Unavailable, "the answer is lost")
	}
	h.serial++
	cert := sign(h.t, &x509.Certificate{
		SerialNumber: big.NewInt(h.serial), Subject: pkix.Name{CommonName: h.edge}, NotBefore: time.Now(), NotAfter: time.Now().Add(h.ttl),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, h.ca, r.PublicKey, h.caKey)
	c := &tombolov1.Credential{Certificates: [][]byte{cert.Raw}, TimeMs: time.Now().UnixMilli()}
	for _, a := range h.authorities {
		c.Authorities = append(c.Authorities, a.Raw)
	}
	return c, nil
}

func (h *fakeHub) Join(_ context.Context, req *tombolov1.JoinRequest) (*tombolov1.JoinResponse, error) {
	c, err := h.issue(req.GetRequest())
	return &tombolov1.JoinResponse{Edge: h.edge, Credential: c}, err
}

// Renew gives a certificate that has expired another one for its own key only, as a hub does.
func (h *fakeHub) Renew(ctx context.Context, req *tombolov1.RenewRequest) (*tombolov1.RenewResponse, error) {
	p, _ := peer.FromContext(ctx)
	shown := p.AuthInfo.(credentials.TLSInfo).State.PeerCertificates[0]
	r, err := x509.ParseCertificateRequest(req.GetRequest())
	if err != nil || time.Now().After(shown.NotAfter) && !samePublic(r.PublicKey, shown.PublicKey) {
		return nil, status.Error(codes.PermissionDenied, "expired, and another key")
	}
	c, err := h.issue(req.GetRequest())
	return &tombolov1.RenewResponse{Credential: c}, err
}

func (h *fakeHub) Check(context.Context, *tombolov1.CheckRequest) (*tombolov1.CheckResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.checkCode != codes.OK {
		return nil, status.Error(h.checkCode, "so it is told")
	}
	out := &tombolov1.CheckResponse{Renew: h.renew, TimeMs: time.Now().UnixMilli(), IntervalMs: 1000}
	for _, a := range h.authorities {
		out.Authorities = append(out.Authorities, a.Raw)
	}
	return out, nil
}

// join joins into a folder.
func (h *fakeHub) join(f Folder) (*Identity, error) {
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	return Join(ctx, JoinConfig{Hubs: []string{h.addr}, Token: "id.secret", Pins: []pki.Pin{pki.PinOf(h.ca)}, Folder: f})
}

func (h *fakeHub) mustJoin(f Folder) *Identity {
	h.t.Helper()
	id, err := h.join(f)
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

// keep returns a keeper whose link, as a session's, is a connection made with the identity.
func (h *fakeHub) keep(id *Identity) *Keeper {
	h.t.Helper()
	conn, err := dial(h.addr, id.Transport())
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	k, err := NewKeeper(Config{Identity: id, Hubs: []string{h.addr}, Link: func() grpc.ClientConnInterface { return conn }})
	if err != nil {
		h.t.Fatal(err)
	}
	return k
}
