//go:build e2e

package e2e

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// join asks for a certificate on a connection of its own.
func (a *adversary) join(token string, request []byte) (*tombolov1.JoinResponse, *line, error) {
	a.t.Helper()
	l := a.dial()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	resp, err := tombolov1.NewJoinServiceClient(l).Join(ctx, &tombolov1.JoinRequest{Token: token, Request: request})
	return resp, l, err
}

func (a *adversary) renew(request []byte) (*tombolov1.RenewResponse, *line, error) {
	a.t.Helper()
	l := a.dial()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	resp, err := tombolov1.NewJoinServiceClient(l).Renew(ctx, &tombolov1.RenewRequest{Request: request})
	return resp, l, err
}

// tokenText makes a token for an edge.
func (s *trustedSite) tokenText(edge string, args ...string) string {
	s.t.Helper()
	args = append([]string{"token", "create", "--edge", edge, "--hub", s.hub.sync, "--hub-ca", s.caFile}, args...)
	fields := strings.Fields(s.cloudhub(args...))
	for i, f := range fields {
		if f == "--token" {
			return fields[i+1]
		}
	}
	s.t.Fatalf("no token in %q", fields)
	return ""
}

func freshKey(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func signingRequest(t testing.TB, key crypto.Signer, template x509.CertificateRequest) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &template, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// greedy is a request for all that an edge's certificate must not say.
func greedy(t testing.TB) x509.CertificateRequest {
	t.Helper()
	mustMarshal := func(v any) []byte {
		der, err := asn1.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	id := func(n ...int) asn1.ObjectIdentifier { return n }
	return x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: "edge-1", Organization: []string{"system:masters"}, SerialNumber: "1"},
		DNSNames: []string{"hub.example.com", "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		EmailAddresses: []string{"a@example.com"}, URIs: []*url.URL{{Scheme: "spiffe", Host: "edge-1"}},
		ExtraExtensions: []pkix.Extension{
			{Id: id(2, 5, 29, 19), Critical: true, Value: mustMarshal(struct{ IsCA bool }{true})},
			{Id: id(2, 5, 29, 15), Critical: true, Value: mustMarshal(asn1.BitString{Bytes: []byte{0x06}, BitLength: 7})}, // certSign, cRLSign
			{Id: id(2, 5, 29, 37), Value: mustMarshal([]asn1.ObjectIdentifier{id(1, 3, 6, 1, 5, 5, 7, 3, 1), id(2, 5, 29, 37, 0)})},
		},
	}
}

// TestAnAdversaryGetsNoOtherCertificate tries to have the hub sign what it should not.
func TestAnAdversaryGetsNoOtherCertificate(t *testing.T) {
	s := newTrustedSiteOf(t, hubConfig{scopes: thiefScopes, args: []string{"--log-format", "json", "--edge-cert-ttl", "1h"}})
	s.startEdge()
	a := newAdversary(s, "thief")
	nobody := a.as(nil)
	t.Run("greedy requests", func(t *testing.T) { a.of(t).greedyRequests(nobody.of(t)) })
	t.Run("bad requests", func(t *testing.T) { a.of(t).badRequests() })
	t.Run("tokens", func(t *testing.T) { a.of(t).tokens(nobody.of(t)) })
	t.Run("guesses", func(t *testing.T) { nobody.of(t).guesses() })
	for _, l := range audits(t, s.hub.log) {
		if text := l.text("reason"); len(text) > 300 || strings.Contains(text, "BEGIN") {
			t.Errorf("a line tells what was sent: %v", l)
		}
	}
	if v := mustMetric(t, s.edge.http, "tombolo_edge_connected"); v != 1 {
		t.Error("the other edge has lost its session")
	}
	key, err := os.ReadFile(s.signer[1])
	if err != nil {
		t.Fatal(err)
	}
	a.nothingLeaked("", string(key), strings.Split(string(key), "\n")[1])
}

// greedyRequests asks for another name and more rights, with a token and as a renewal.
func (a *adversary) greedyRequests(nobody *adversary) {
	key := freshKey(a.t, elliptic.P256())
	joined, _, err := nobody.join(a.site.tokenText("thief"), signingRequest(a.t, key, greedy(a.t)))
	if err != nil {
		a.t.Fatal(err)
	}
	a.plain("joined", joined.GetCredential())
	holder := a.as(&tls.Certificate{Certificate: joined.GetCredential().GetCertificates(), PrivateKey: key})
	renewed, _, err := holder.renew(signingRequest(a.t, freshKey(a.t, elliptic.P384()), greedy(a.t)))
	if err != nil {
		a.t.Fatal(err)
	}
	a.plain("renewed", renewed.GetCredential())
	// With what it got it can't sign for others.
	leaf, err := x509.ParseCertificate(joined.GetCredential().GetCertificates()[0])
	if err != nil {
		a.t.Fatal(err)
	}
	other := freshKey(a.t, elliptic.P256())
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: leaf.SerialNumber, Subject: pkix.Name{CommonName: "edge-1"}, NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, leaf, &other.PublicKey, key)
	if err != nil {
		a.t.Fatal(err)
	}
	forged := a.as(&tls.Certificate{Certificate: [][]byte{der, leaf.Raw}, PrivateKey: other})
	if err := forged.dial().bytes(syncMethod, nil); status.Code(err) != codes.Unavailable {
		a.t.Errorf("a certificate signed by an edge's: %v", err)
	}
}

// plain checks that a certificate says a name and nothing else.
func (a *adversary) plain(what string, c *tombolov1.Credential) {
	a.t.Helper()
	leaf, err := x509.ParseCertificate(c.GetCertificates()[0])
	if err != nil {
		a.t.Fatal(err)
	}
	if got := leaf.Subject.String(); got != "CN=thief,O=tombolo:edges" || leaf.IsCA || leaf.KeyUsage != x509.KeyUsageDigitalSignature ||
		len(leaf.ExtKeyUsage) != 1 || leaf.ExtKeyUsage[0] != x509.ExtKeyUsageClientAuth || len(leaf.UnknownExtKeyUsage) > 0 ||
		len(leaf.DNSNames)+len(leaf.IPAddresses)+len(leaf.EmailAddresses)+len(leaf.URIs) > 0 {
		a.t.Errorf("%s: %s CA %v usage %v %v names %q %v", what, got, leaf.IsCA, leaf.KeyUsage, leaf.ExtKeyUsage, leaf.DNSNames, leaf.IPAddresses)
	}
	if life := time.Until(leaf.NotAfter); life > time.Hour {
		a.t.Errorf("%s: it lives for %s", what, life)
	}
}

// badRequests are refused, and the connection is closed.
func (a *adversary) badRequests() {
	good := signingRequest(a.t, freshKey(a.t, elliptic.P256()), x509.CertificateRequest{})
	wrong := append([]byte(nil), good...)
	wrong[len(wrong)-3] ^= 1
	weak, err := rsa.GenerateKey(rand.Reader, 1024) //nolint:gosec // it is to be refused
	if err != nil {
		a.t.Fatal(err)
	}
	for what, request := range map[string][]byte{
		"nothing": nil, "garbage": []byte("garbage"), "a wrong signature": wrong, "a huge one": make([]byte, 1<<20), "a cut one": good[:40],
		"RSA 1024": signingRequest(a.t, weak, x509.CertificateRequest{}),
		"P-224":    signingRequest(a.t, freshKey(a.t, elliptic.P224()), x509.CertificateRequest{}),
		"many names": signingRequest(a.t, freshKey(a.t, elliptic.P256()), x509.CertificateRequest{
			DNSNames: strings.Split(strings.Repeat("a.example.com ", 2000), " ")[:1999],
		}),
	} {
		_, l, err := a.renew(request)
		wantCode(a.t, what, err, codes.InvalidArgument)
		defer l.awaitClosed(what)
	}
	a.awaitRefusal("renew", "thief", "is not signed by its key")
}

// tokens tries what others' tokens, and its own, are good for.
func (a *adversary) tokens(nobody *adversary) {
	others := a.site.tokenText("edge-1")
	key := freshKey(a.t, elliptic.P256())
	request := signingRequest(a.t, key, x509.CertificateRequest{})
	_, l, err := a.join(others, request)
	wantCode(a.t, "another edge's token with one's own certificate", err, codes.PermissionDenied)
	defer l.awaitClosed("another edge's token")
	a.awaitRefusal("join", "edge-1", "the token is not for edge thief")

	own := a.site.tokenText("thief")
	for range 2 { // a lost answer is no misfortune
		if resp, _, err := nobody.join(own, request); err != nil || resp.GetEdge() != "thief" {
			a.t.Errorf("the same key: %v", err)
		}
	}
	_, l, err = nobody.join(own, signingRequest(a.t, freshKey(a.t, elliptic.P256()), x509.CertificateRequest{}))
	wantCode(a.t, "a token that another key has used", err, codes.PermissionDenied)
	defer l.awaitClosed("a used token")
	a.awaitRefusal("join", "thief", "used already, for another key")

	short := a.site.tokenText("thief", "--ttl", "1s")
	time.Sleep(1100 * time.Millisecond) // the token's life
	_, l, err = nobody.join(short, request)
	wantCode(a.t, "an expired token", err, codes.PermissionDenied)
	defer l.awaitClosed("an expired token")
	a.awaitRefusal("join", "thief", "the token expired")

	id, secret, _ := strings.Cut(own, ".")
	for what, token := range map[string]string{
		"no token": "", "an id alone": id, "another secret": id + "." + strings.Repeat("A", len(secret)), "a path": "../../revocations/x." + secret,
	} {
		_, l, err := nobody.join(token, request)
		wantCode(a.t, what, err, codes.PermissionDenied)
		if got := status.Convert(err).Message(); got != "the token is not valid" {
			a.t.Errorf("%s: the answer tells more than that: %s", what, got)
		}
		defer l.awaitClosed(what)
	}
	// The other edge's token was not used up by all that: whom it is for gets a certificate.
	if resp, _, err := nobody.join(others, request); err != nil || resp.GetEdge() != "edge-1" {
		a.t.Errorf("the token that the thief has tried: %v", err)
	}
}

// guesses goes on until the hub has enough of it.
func (a *adversary) guesses() {
	request := signingRequest(a.t, freshKey(a.t, elliptic.P256()), x509.CertificateRequest{})
	for n := range 50 {
		_, _, err := a.join("aaaaaaaaaaaaaaaa."+strings.Repeat("A", 43), request)
		if status.Code(err) == codes.ResourceExhausted {
			a.t.Logf("%d guesses", n)
			a.awaitRefusal("join", "", "too many failed attempts")
			return
		}
		wantCode(a.t, "a guess", err, codes.PermissionDenied)
	}
	a.t.Error("the hub lets anybody guess for ever")
}

// TestAnExpiredOrOutdatedCertificateIsGoodForLittle uses certificates whose time is over, and one that was replaced.
func TestAnExpiredOrOutdatedCertificateIsGoodForLittle(t *testing.T) {
	s := newTrustedSiteOf(t, hubConfig{scopes: thiefScopes, args: []string{
		"--log-format", "json", "--edge-cert-ttl", "4s", "--renew-grace", "1h", "--edge-check-interval", "1s",
	}})
	s.startEdge()
	a := newAdversary(s, "thief")
	key, fresh := a.cert.PrivateKey.(crypto.Signer), freshKey(t, elliptic.P256())
	time.Sleep(4500 * time.Millisecond) // until the certificate has expired
	for _, method := range []string{syncMethod, callMethod, checkMethod, healthMethod} {
		l := a.dial()
		defer l.awaitClosed("expired: " + method)
		wantCode(t, "expired: "+method, l.bytes(method, nil), codes.Unauthenticated)
	}
	a.awaitRefusal("connect", "thief", "the certificate has expired")
	_, l, err := a.renew(signingRequest(t, fresh, x509.CertificateRequest{}))
	wantCode(t, "expired, for another key", err, codes.PermissionDenied)
	defer l.awaitClosed("expired, for another key")
	a.awaitRefusal("renew", "thief", "for the same key only")

	renewed, _, err := a.renew(signingRequest(t, key, x509.CertificateRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	first := a.as(&tls.Certificate{Certificate: renewed.GetCredential().GetCertificates(), PrivateKey: key})
	again, _, err := first.renew(signingRequest(t, fresh, x509.CertificateRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	second := a.as(&tls.Certificate{Certificate: again.GetCredential().GetCertificates(), PrivateKey: fresh})
	if err := second.letIn(); err != nil {
		t.Error(err)
	}
	for _, method := range []string{syncMethod, callMethod, renewMethod} {
		l := first.dial()
		defer l.awaitClosed("replaced: " + method)
		wantCode(t, "replaced: "+method, l.bytes(method, nil), codes.PermissionDenied)
	}
	a.awaitRefusal("connect", "thief", "a newer certificate of the edge is in use")
}
