package enroll_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tombolo-sync/tombolo/cloudhub/enroll"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// greedy asks for everything that a request can ask for.
func greedy(t *testing.T) x509.CertificateRequest {
	t.Helper()
	extension := func(id asn1.ObjectIdentifier, v any) pkix.Extension {
		der, err := asn1.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return pkix.Extension{Id: id, Critical: true, Value: der}
	}
	return x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: "edge-2", Organization: []string{"system:masters"}},
		DNSNames: []string{"hub.example.com", "edge-2"}, EmailAddresses: []string{"root@example.com"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtraExtensions: []pkix.Extension{
			extension(asn1.ObjectIdentifier{2, 5, 29, 19}, struct{ IsCA bool }{true}),
			extension(asn1.ObjectIdentifier{2, 5, 29, 37}, []asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 1}}),
			extension(asn1.ObjectIdentifier{2, 5, 29, 15}, asn1.BitString{Bytes: []byte{0x06}, BitLength: 7}),
		},
	}
}

func TestTheHubSignsTheNameOfTheTokenAndNothingElse(t *testing.T) {
	r := newRig(t, time.Hour, time.Hour)
	key := newKey(t)
	cert, err := r.joinWith(r.token("edge-1", time.Hour, 0), key, request(t, key, greedy(t)))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*x509.Certificate{"joined": cert.Leaf, "renewed": r.renewGreedily(cert.Leaf, cert.Certificate, key)} {
		if got := c.Subject.String(); got != "CN=edge-1,O=tombolo:edges" {
			t.Errorf("%s: subject %s", name, got)
		}
		if len(c.DNSNames)+len(c.EmailAddresses)+len(c.IPAddresses)+len(c.URIs) > 0 {
			t.Errorf("%s: it has alternative names: %v %v %v %v", name, c.DNSNames, c.EmailAddresses, c.IPAddresses, c.URIs)
		}
		if c.IsCA || c.KeyUsage != x509.KeyUsageDigitalSignature {
			t.Errorf("%s: authority %v, usage %b", name, c.IsCA, c.KeyUsage)
		}
		if len(c.ExtKeyUsage) != 1 || c.ExtKeyUsage[0] != x509.ExtKeyUsageClientAuth || len(c.UnknownExtKeyUsage) > 0 {
			t.Errorf("%s: extended usage %v %v", name, c.ExtKeyUsage, c.UnknownExtKeyUsage)
		}
		if !c.PublicKey.(*ecdsa.PublicKey).Equal(key.Public()) {
			t.Errorf("%s: it is for another key", name)
		}
	}
}

func (r *rig) renewGreedily(leaf *x509.Certificate, chain [][]byte, key *ecdsa.PrivateKey) *x509.Certificate {
	r.t.Helper()
	cert := certificate(r.t, &tombolov1.Credential{Certificates: chain}, key)
	resp, err := tombolov1.NewJoinServiceClient(r.dial(cert)).
		Renew(r.t.Context(), &tombolov1.RenewRequest{Request: request(r.t, key, greedy(r.t))})
	if err != nil {
		r.t.Fatal(err)
	}
	next := certificate(r.t, resp.GetCredential(), key).Leaf
	if next.SerialNumber.Cmp(leaf.SerialNumber) == 0 {
		r.t.Fatal("the certificate is the one before")
	}
	return next
}

func TestTokensThatAreNotTaken(t *testing.T) {
	r := newRig(t, time.Hour, time.Hour)
	good, other := r.token("edge-1", time.Hour, 0), r.token("edge-2", time.Hour, 0)
	id, secret, _ := strings.Cut(good, ".")
	otherID, _, _ := strings.Cut(other, ".")
	gone := r.token("edge-3", time.Hour, 0)
	goneID, _, _ := strings.Cut(gone, ".")
	if err := r.register.Remove(t.Context(), goneID); err != nil {
		t.Fatal(err)
	}
	before := r.token("edge-4", time.Hour, time.Minute)
	_ = r.revoked.Set([]enroll.Revocation{enroll.NewRevocation("edge-4", "", time.Now(), time.Time{})})
	for name, c := range map[string]struct{ token, want string }{
		"empty":                             {"", "not valid"},
		"without a secret":                  {id, "not valid"},
		"another token's secret":            {otherID + "." + secret, "not valid"},
		"an id that does not exist":         {"aaaaaaaaaaaaaaaa." + secret, "not valid"},
		"an id that is a path":              {"../../../../../a." + secret, "not valid"},
		"a secret that is cut":              {good[:len(good)-4], "not valid"},
		"endless":                           {good + strings.Repeat("A", 1<<16), "not valid"},
		"taken back":                        {gone, "not valid"},
		"expired":                           {r.token("edge-1", time.Minute, time.Minute), "expired"},
		"made before the edge's revocation": {before, "revoked after the token was made"},
	} {
		// The budget of failures is for an address, and this is about tokens.
		_, err := r.replica(slog.New(slog.DiscardHandler)).Join(t.Context(), &tombolov1.JoinRequest{
			Token: c.token, Request: request(t, newKey(t), x509.CertificateRequest{}),
		})
		if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.join(good); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

func TestATokenIsForOneKeyAndALostAnswerLocksNobodyOut(t *testing.T) {
	r := newRig(t, time.Hour, time.Hour)
	token, key := r.token("edge-1", time.Hour, 0), newKey(t)
	for range 3 {
		cert, err := r.joinWith(token, key, request(t, key, x509.CertificateRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		if err := ping(t.Context(), r.dial(cert)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.join(token); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "used already") {
		t.Fatalf("another key: %v", err)
	}
	for _, want := range []string{"action=join edge=edge-1", "result=granted", "result=refused", `reason="the token was used already`} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("not in the log: %s\n%s", want, r.log.String())
		}
	}
	if _, secret, _ := strings.Cut(token, "."); strings.Contains(r.log.String(), secret) {
		t.Error("the secret is in the log")
	}
}

func TestOneKeyWinsAmongReplicas(t *testing.T) {
	r := newRig(t, time.Hour, time.Hour)
	token := r.token("edge-1", time.Hour, 0)
	replicas := []*enroll.Server{r.replica(slog.New(slog.DiscardHandler)), r.replica(slog.New(slog.DiscardHandler))}
	var won atomic.Int32
	var all sync.WaitGroup
	for i := range 32 {
		der := request(t, newKey(t), x509.CertificateRequest{})
		all.Go(func() {
			_, err := replicas[i%2].Join(t.Context(), &tombolov1.JoinRequest{Token: token, Request: der})
			if err == nil {
				won.Add(1)
			}
		})
	}
	all.Wait()
	if n := won.Load(); n != 1 {
		t.Fatalf("%d keys got a certificate for one token", n)
	}
}

func TestRequestsThatAreNotTaken(t *testing.T) {
	r := newRig(t, time.Hour, time.Hour)
	small, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	odd, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	forged := request(t, newKey(t), x509.CertificateRequest{})
	forged[len(forged)-1] ^= 1
	token := r.token("edge-1", time.Hour, 0)
	for name, der := range map[string][]byte{
		"none": nil, "noise": []byte("noise"), "a small RSA key": request(t, small, x509.CertificateRequest{}),
		"an odd curve": request(t, odd, x509.CertificateRequest{}), "not signed by its key": forged, "endless": make([]byte, 1<<20),
	} {
		_, err := r.replica(slog.New(slog.DiscardHandler)).Join(t.Context(), &tombolov1.JoinRequest{Token: token, Request: der})
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.join(token); err != nil {
		t.Errorf("they have used the token up: %v", err)
	}
}

func TestWhoFailsTooOftenIsTurnedAwayAlone(t *testing.T) {
	r := newRig(t, time.Hour, time.Hour)
	var err error
	for i := 0; status.Code(err) != codes.ResourceExhausted; i++ {
		if i > 50 {
			t.Fatal("somebody may go on guessing for ever")
		}
		_, err = r.join(fmt.Sprintf("aaaaaaaaaaaaaa%02d.x", i%10))
	}
	told := false
	for _, d := range status.Convert(err).Details() {
		info, ok := d.(*errdetails.RetryInfo)
		told = told || ok && info.GetRetryDelay().AsDuration() > 0
	}
	if !told {
		t.Errorf("nobody says when to come again: %v", err)
	}
	if _, err := r.join(r.token("edge-1", time.Hour, 0)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a good token of the same address: %v", err)
	}
	resp, err := r.replica(slog.New(slog.DiscardHandler)).Join(t.Context(), &tombolov1.JoinRequest{
		Token: r.token("edge-1", time.Hour, 0), Request: request(t, newKey(t), x509.CertificateRequest{}),
	})
	if err != nil || resp.GetEdge() != "edge-1" {
		t.Errorf("another address: %v", err)
	}
}

func TestTokensAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		edge string
		ttl  time.Duration
	}{"no name": {"", time.Hour}, "a bad name": {"Edge_1", time.Hour}, "no time": {"edge-1", 0}, "for ever": {"edge-1", 365 * 24 * time.Hour}} {
		if _, _, err := enroll.NewToken(c.edge, c.ttl, time.Now(), time.Time{}); err == nil {
			t.Errorf("%s: a token was made", name)
		}
	}
}
