package enroll_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/tombolo-sync/tombolo/cloudhub/enroll"
	"github.com/tombolo-sync/tombolo/cloudhub/enroll/directory"
	"github.com/tombolo-sync/tombolo/cloudhub/identity"
	"github.com/tombolo-sync/tombolo/internal/pki/pkitest"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a hub that gives certificates and serves health, a service like any other, to those who have one.
type rig struct {
	t        *testing.T
	ca       *pkitest.CA
	register *directory.Register
	revoked  *enroll.Revoked
	issuer   *enroll.Issuer
	site     *site
	addr     string
	log      lockedBuffer
}

// site is somebody else who says what counts: certificates that begin at a time or later.
type site struct{ since atomic.Pointer[time.Time] }

func (s *site) Check(_ string, notBefore time.Time) error {
	if since := s.since.Load(); since != nil && notBefore.Before(*since) {
		return identity.ErrBarred
	}
	return nil
}

func (s *site) Changed() <-chan struct{} { return nil }

// lockedBuffer takes what is logged.
type lockedBuffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

func newRig(t *testing.T, ttl, grace time.Duration) *rig {
	t.Helper()
	r := &rig{t: t, ca: pkitest.NewCA(t), revoked: enroll.NewRevoked(), site: &site{}}
	r.revoked.Set(nil)
	var err error
	if r.register, err = directory.New(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if r.issuer, err = enroll.NewIssuer(r.ca.Pair, ttl); err != nil {
		t.Fatal(err)
	}
	cfg, err := r.ca.Issue(t, "hub").Server()
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(r.ca.Certificate())
	logger := slog.New(slog.NewTextHandler(&r.log, nil))
	gate, err := identity.New(identity.Config{
		TLS: cfg, Authorities: func() *x509.CertPool { return pool }, Standings: []identity.Standing{r.revoked, r.site},
		Anonymous: enroll.Anonymous, Lapsed: enroll.Lapsed, Grace: grace, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(grpc.Creds(gate.Credentials()), grpc.InTapHandle(gate.Admit))
	healthpb.RegisterHealthServer(srv, health.NewServer())
	r.replica(logger).Register(srv)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = lis.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = srv.Serve(lis) })
	running.Go(func() { _ = gate.Run(ctx) })
	t.Cleanup(func() { srv.Stop(); cancel(); running.Wait() })
	return r
}

// replica returns another server over the same register.
func (r *rig) replica(logger *slog.Logger) *enroll.Server {
	s, err := enroll.New(enroll.Config{
		Issuer: r.issuer, Tokens: r.register, Revoked: r.revoked, Standing: r.site, Logger: logger, JoinRate: 1000,
		Authorities: func() []*x509.Certificate { return []*x509.Certificate{r.ca.Certificate()} },
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// token makes a token that was made some time ago, and returns its text.
func (r *rig) token(edge string, ttl, age time.Duration) string {
	r.t.Helper()
	t, text, err := enroll.NewToken(edge, ttl, time.Now().Add(-age), time.Time{})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.register.Add(r.t.Context(), t); err != nil {
		r.t.Fatal(err)
	}
	return text
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func request(t *testing.T, key any, template x509.CertificateRequest) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &template, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// dial connects with a certificate, or with none.
func (r *rig) dial(cert *tls.Certificate) *grpc.ClientConn {
	r.t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(r.ca.Certificate())
	return r.dialWith(&tls.Config{RootCAs: roots}, cert)
}

func (r *rig) dialWith(cfg *tls.Config, cert *tls.Certificate) *grpc.ClientConn {
	r.t.Helper()
	if cert != nil {
		cfg.Certificates = []tls.Certificate{*cert}
	}
	conn, err := grpc.NewClient("passthrough:///"+r.addr, grpc.WithTransportCredentials(credentials.NewTLS(cfg)))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// join joins with a new key.
func (r *rig) join(token string) (*tls.Certificate, error) {
	r.t.Helper()
	key := newKey(r.t)
	return r.joinWith(token, key, request(r.t, key, x509.CertificateRequest{}))
}

func (r *rig) joinWith(token string, key *ecdsa.PrivateKey, der []byte) (*tls.Certificate, error) {
	r.t.Helper()
	resp, err := tombolov1.NewJoinServiceClient(r.dial(nil)).Join(r.t.Context(), &tombolov1.JoinRequest{Token: token, Request: der})
	if err != nil {
		return nil, err
	}
	return certificate(r.t, resp.GetCredential(), key), nil
}

func certificate(t *testing.T, c *tombolov1.Credential, key *ecdsa.PrivateKey) *tls.Certificate {
	t.Helper()
	leaf, err := x509.ParseCertificate(c.GetCertificates()[0])
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: c.GetCertificates(), PrivateKey: key, Leaf: leaf}
}

// mustJoin joins an edge with a new token.
func (r *rig) mustJoin(edge string) *tls.Certificate {
	r.t.Helper()
	cert, err := r.join(r.token(edge, time.Hour, 0))
	if err != nil {
		r.t.Fatal(err)
	}
	return cert
}

// renew renews a certificate over a connection with it.
func (r *rig) renew(cert *tls.Certificate, key *ecdsa.PrivateKey) (*tls.Certificate, error) {
	r.t.Helper()
	resp, err := tombolov1.NewJoinServiceClient(r.dial(cert)).
		Renew(r.t.Context(), &tombolov1.RenewRequest{Request: request(r.t, key, x509.CertificateRequest{})})
	if err != nil {
		return nil, err
	}
	return certificate(r.t, resp.GetCredential(), key), nil
}

// ping calls a service that is for edges.
func ping(ctx context.Context, conn *grpc.ClientConn) error {
	_, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	return err
}

func asECDSA(key any) *ecdsa.PrivateKey {
	k, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		panic("not a key of ours") // a fault of the test
	}
	return k
}
