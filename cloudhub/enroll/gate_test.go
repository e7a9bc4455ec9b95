package enroll_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/tombolo-sync/tombolo/cloudhub/enroll"
	"github.com/tombolo-sync/tombolo/cloudhub/identity"
	"github.com/tombolo-sync/tombolo/internal/pki/pkitest"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

func TestWithoutACertificateNothingAnswersButJoin(t *testing.T) {
	r := newRig(t, time.Hour, time.Hour)
	var conns []*grpc.ClientConn
	for _, method := range []string{
		tombolov1.JoinService_Renew_FullMethodName, tombolov1.JoinService_Check_FullMethodName,
		tombolov1.SyncService_Sync_FullMethodName, tombolov1.CallService_Call_FullMethodName,
		healthpb.Health_Check_FullMethodName, "/nobody.knows/This",
	} {
		conn := r.dial(nil)
		err := conn.Invoke(t.Context(), method, &tombolov1.CheckRequest{}, &tombolov1.CheckResponse{})
		if status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: %v", method, err)
		}
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		closed(t, conn)
	}
	if !strings.Contains(r.log.String(), `action=connect`) || !strings.Contains(r.log.String(), `reason="no client certificate"`) {
		t.Errorf("it is not audited: %s", r.log.String())
	}
}

// closed waits until the other side has closed a connection.
func closed(t *testing.T, conn *grpc.ClientConn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for s := conn.GetState(); s == connectivity.Ready; s = conn.GetState() {
		if !conn.WaitForStateChange(ctx, s) {
			t.Fatal("the connection stays open")
		}
	}
}

func TestForeignAndOldTLSIsRefused(t *testing.T) {
	r := newRig(t, time.Hour, time.Hour)
	foreign := pkitest.NewCA(t).Issue(t, "edge-1")
	cert, err := tls.LoadX509KeyPair(foreign.Cert, foreign.Key)
	if err != nil {
		t.Fatal(err)
	}
	if err := ping(t.Context(), r.dial(&cert)); status.Code(err) != codes.Unavailable {
		t.Errorf("a certificate of another authority: %v", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(r.ca.Certificate())
	old := r.dialWith(&tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS12}, r.mustJoin("edge-1"))
	if err := ping(t.Context(), old); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("TLS 1.2: %v", err)
	}
}

func TestAnExpiredCertificateRenewsItselfForItsKeyAndDoesNothingElse(t *testing.T) {
	r := newRig(t, 2*time.Second, time.Hour)
	cert := r.mustJoin("edge-1")
	key := cert.PrivateKey
	time.Sleep(time.Until(cert.Leaf.NotAfter.Add(100 * time.Millisecond)))
	if err := ping(t.Context(), r.dial(cert)); status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "expired") {
		t.Errorf("another service: %v", err)
	}
	if _, err := r.renew(cert, newKey(t)); status.Code(err) != codes.PermissionDenied {
		t.Errorf("another key: %v", err)
	}
	next, err := r.renew(cert, asECDSA(key))
	if err != nil {
		t.Fatal(err)
	}
	if err := ping(t.Context(), r.dial(next)); err != nil {
		t.Errorf("the new certificate: %v", err)
	}
	if !strings.Contains(r.log.String(), "action=renew edge=edge-1") || !strings.Contains(r.log.String(), "expired=true") {
		t.Errorf("it is not audited: %s", r.log.String())
	}
}

func TestBeyondTheGraceANewTokenIsNeeded(t *testing.T) {
	r := newRig(t, time.Second, 0)
	cert := r.mustJoin("edge-1")
	time.Sleep(time.Until(cert.Leaf.NotAfter.Add(100 * time.Millisecond)))
	if _, err := r.renew(cert, asECDSA(cert.PrivateKey)); status.Code(err) != codes.Unavailable {
		t.Errorf("the handshake was not refused: %v", err)
	}
	if err := ping(t.Context(), r.dial(r.mustJoin("edge-1"))); err != nil {
		t.Errorf("with a new token: %v", err)
	}
}

func TestTheOldCertificateIsAcceptedUntilTheNewOneWasUsed(t *testing.T) {
	r := newRig(t, time.Hour, time.Hour)
	old := r.mustJoin("edge-1")
	key := newKey(t)
	if _, err := r.renew(old, key); err != nil { // and the answer is lost
		t.Fatal(err)
	}
	next, err := r.renew(old, key)
	if err != nil {
		t.Fatalf("after a lost answer: %v", err)
	}
	open := r.dial(old)
	if err := ping(t.Context(), open); err != nil {
		t.Fatalf("before the new one is used: %v", err)
	}
	if err := ping(t.Context(), r.dial(next)); err != nil {
		t.Fatal(err)
	}
	if err := ping(t.Context(), r.dial(old)); status.Code(err) != codes.PermissionDenied {
		t.Errorf("the old one, after the new one was used: %v", err)
	}
	if _, err := r.renew(old, newKey(t)); status.Code(err) != codes.PermissionDenied {
		t.Errorf("the old one gets another: %v", err)
	}
	if err := ping(t.Context(), open); err != nil {
		t.Errorf("what was open with the old one: %v", err)
	}
}

func TestRevocationEndsStreamsAndBarsAllThatWasIssued(t *testing.T) {
	r := newRig(t, time.Hour, time.Hour)
	cert, other := r.mustJoin("edge-1"), r.mustJoin("edge-2")
	stream, err := healthpb.NewHealthClient(r.dial(cert)).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	bystander := r.dial(other)
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	revocation := enroll.NewRevocation("edge-1", "stolen", time.Now(), time.Time{})
	_ = r.revoked.Set([]enroll.Revocation{revocation})
	if _, err := stream.Recv(); err == nil {
		t.Fatal("the stream goes on")
	}
	if err := ping(t.Context(), r.dial(cert)); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("a new connection: %v", err)
	}
	if _, err := r.renew(cert, asECDSA(cert.PrivateKey)); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a renewal: %v", err)
	}
	if err := ping(t.Context(), bystander); err != nil {
		t.Errorf("another edge: %v", err)
	}
	token, text, err := enroll.NewToken("edge-1", time.Hour, time.Now(), revocation.Before)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.register.Add(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	again, err := r.join(text)
	if err != nil {
		t.Fatalf("with a new token: %v", err)
	}
	if err := ping(t.Context(), r.dial(again)); err != nil {
		t.Errorf("with a new token: %v", err)
	}
}

// TestWhatIsIssuedFromNowOnCounts has a site accept nothing of before this second.
func TestWhatIsIssuedFromNowOnCounts(t *testing.T) {
	r := newRig(t, time.Hour, time.Hour)
	old, unused := r.mustJoin("edge-1"), r.token("edge-1", time.Hour, time.Minute)
	now := time.Now().Truncate(time.Second)
	r.site.since.Store(&now)
	if err := ping(t.Context(), r.dial(old)); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a certificate of before: %v", err)
	}
	if _, err := r.join(unused); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a token of before: %v", err)
	}
	if err := ping(t.Context(), r.dial(r.mustJoin("edge-1"))); err != nil {
		t.Errorf("a certificate for a token of now: %v", err)
	}
}

func TestAResumedTLSSessionIsLookedAtAgain(t *testing.T) {
	r := newRig(t, time.Hour, time.Hour)
	cert := r.mustJoin("edge-1")
	roots := x509.NewCertPool()
	roots.AddCert(r.ca.Certificate())
	cache := tls.NewLRUClientSessionCache(4)
	resumed := false
	dial := func() *grpc.ClientConn {
		return r.dialWith(&tls.Config{RootCAs: roots, ClientSessionCache: cache, VerifyConnection: func(s tls.ConnectionState) error {
			resumed = s.DidResume
			return nil
		}}, cert)
	}
	for range 2 {
		if err := ping(t.Context(), dial()); err != nil {
			t.Fatal(err)
		}
	}
	if !resumed {
		t.Fatal("the session was not resumed, so that nothing is tested")
	}
	_ = r.revoked.Set([]enroll.Revocation{enroll.NewRevocation("edge-1", "", time.Now(), time.Time{})})
	if err := ping(t.Context(), dial()); status.Code(err) != codes.PermissionDenied {
		t.Errorf("after the revocation, resumed %v: %v", resumed, err)
	}
}

func TestNobodyComesInBeforeTheRevocationsAreKnown(t *testing.T) {
	if err := enroll.NewRevoked().Check("edge-1", time.Now()); err == nil || errors.Is(err, identity.ErrBarred) {
		t.Errorf("an edge is let in, or barred for good: %v", err)
	}
}
