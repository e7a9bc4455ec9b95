package kube

import (
	"crypto/tls"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/tombolo-sync/tombolo/internal/pki/pkitest"
)

// seen is what an API server was sent.
type seen struct {
	uri, authorization, user, agent string
	certificates                    int
}

func TestCallersAreShownWithoutTheHubsCredentials(t *testing.T) {
	var last seen
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		last = seen{r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("Impersonate-User"), r.Header.Get("User-Agent"), len(r.TLS.PeerCertificates)}
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	mine := pkitest.NewCA(t).Issue(t, "hub")
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("of-the-hub"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := &rest.Config{
		Host: server.URL + "/k8s/cluster/", BearerToken: "old", BearerTokenFile: token, UserAgent: "hub",
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			CertFile: mine.Cert, KeyFile: mine.Key,
		},
	}
	k, err := New(Config{REST: config, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer k.calls.close()
	send := func(rt http.RoundTripper, authorization string) seen {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/a%2Fb?x=%20", nil)
		r.URL.Host, r.URL.Scheme, r.RequestURI = "", "", ""
		r.Header.Set("User-Agent", "kubectl")
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		resp, err := rt.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return last
	}
	const uri = "/k8s/cluster/api/v1/a%2Fb?x=%20"
	if got := send(k.Caller(), "Bearer mine"); got != (seen{uri, "Bearer mine", "", "kubectl", 0}) {
		t.Errorf("a caller: %+v", got)
	}
	if got := send(k.Caller(), ""); got != (seen{uri, "", "", "kubectl", 0}) {
		t.Errorf("a caller without anything: %+v", got)
	}
	if got := send(k.Edge("e"), ""); got != (seen{uri, "Bearer of-the-hub", "tombolo:edge:e", "kubectl", 1}) {
		t.Errorf("an edge: %+v", got)
	}
}

func TestAHubThatActsAsAnotherUserDoesNotActAsAnEdge(t *testing.T) {
	config := &rest.Config{Host: "http://127.0.0.1:1", Impersonate: rest.ImpersonationConfig{UserName: "less"}}
	k, err := New(Config{REST: config, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/api", nil)
	if resp, err := k.Edge("e").RoundTrip(r); err != errActing { //nolint:errorlint // it is returned as it is
		if err == nil {
			_ = resp.Body.Close()
		}
		t.Error(err)
	}
}
