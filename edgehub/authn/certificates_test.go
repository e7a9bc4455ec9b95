package authn

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-sync/tombolo/edgehub/authority"
	"github.com/tombolo-sync/tombolo/internal/access"
	"github.com/tombolo-sync/tombolo/internal/pki"
	"github.com/tombolo-sync/tombolo/internal/pki/pkitest"
)

// certified is a request of a client that shows a certificate.
func certified(t *testing.T, f pki.Files) *http.Request {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{pair.Leaf}}
	return r
}

func TestCertificatesNameUsers(t *testing.T) {
	ca, other := pkitest.NewCA(t).Issue(t, "ann"), pkitest.NewCA(t).Issue(t, "ann")
	roots, err := pki.NewBundle(ca.CA)
	if err != nil {
		t.Fatal(err)
	}
	own, err := authority.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a := &Authenticator{Certificates: NewCertificates(own, roots)}
	for range 2 { // the second time it is remembered
		u, err := a.Authenticate(certified(t, ca))
		if err != nil || u.Name != "ann" || !slices.Equal(u.Groups, []string{access.Authenticated}) || u.Bearer {
			t.Fatalf("%+v, %v", u, err)
		}
		if u, err := a.Authenticate(certified(t, other)); err == nil || !strings.Contains(err.Error(), "unknown authority") {
			t.Errorf("of another authority: %+v, %v", u, err)
		}
	}
	if u, err := (&Authenticator{}).Authenticate(certified(t, ca)); err == nil {
		t.Errorf("without authorities: %+v", u)
	}
	if u, err := a.Authenticate(httptest.NewRequest(http.MethodGet, "/", nil)); err != nil || u.Name != access.Anonymous || u.In(access.Authenticated) {
		t.Errorf("%+v, %v", u, err)
	}
}

// TestARememberedCertificateEnds with its own time, not with that of what is remembered.
func TestARememberedCertificateEnds(t *testing.T) {
	files := pkitest.NewCA(t).Issue(t, "ann")
	synctest.Test(t, func(t *testing.T) {
		roots, err := pki.NewBundle(files.CA)
		if err != nil {
			t.Fatal(err)
		}
		r := certified(t, files)
		time.Sleep(time.Until(r.TLS.PeerCertificates[0].NotBefore))
		c := NewCertificates(roots)
		time.Sleep(time.Until(r.TLS.PeerCertificates[0].NotAfter.Add(-time.Second)))
		if _, err := c.user(r.TLS.PeerCertificates); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if u, err := c.user(r.TLS.PeerCertificates); err == nil {
			t.Errorf("%+v", u)
		}
	})
}

func TestBearer(t *testing.T) {
	for value, want := range map[string]string{"Bearer x.y": "x.y", "bearer x": "x", "Basic eA==": "", "Bearer": "", "x": "", "": ""} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", value)
		if got, ok := bearer(r); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", value, got, ok)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Add("Sec-WebSocket-Protocol", "v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.eC55")
	if got, ok := bearer(r); got != "x.y" || !ok {
		t.Errorf("in a protocol: %q, %v", got, ok)
	}
}
