package run

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/pki"
	"github.com/tombolo-sync/tombolo/internal/pki/pkitest"
)

// TestHTTPSpeaksHTTP2OverTLS also wants that plain HTTP is refused then, and that the log has it: a token must not
// travel in the clear.
func TestHTTPSpeaksHTTP2OverTLS(t *testing.T) {
	files := pkitest.NewCA(t).Issue(t, "edge-1")
	serving, err := pki.Serving(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	trust, err := files.Client()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	lis, err := Listen(ctx, "test", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := Server(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	srv.TLSConfig = serving
	ended := make(chan error, 1)
	var log bytes.Buffer
	go func() { ended <- HTTP(ctx, lis, srv, slog.New(slog.NewTextHandler(&log, nil))) }()

	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: trust.RootCAs}}
	client := &http.Client{Transport: transport}
	for scheme, want := range map[string]int{"https": http.StatusNoContent, "http": http.StatusBadRequest} {
		resp, err := client.Get(scheme + "://" + lis.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %s, want %d", scheme, resp.Status, want)
		}
		if scheme == "https" && resp.ProtoMajor != 2 {
			t.Errorf("spoken: %s", resp.Proto)
		}
	}
	transport.CloseIdleConnections()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if said := log.String(); !strings.Contains(said, "level=WARN") || !strings.Contains(said, "TLS handshake error") {
		t.Errorf("logged of the plain request: %q", said)
	}
}
