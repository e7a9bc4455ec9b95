// Package passthrough holds tests of an edge's calls and a hub's service of them together, in one process, against API
// servers that the tests make up. They need nothing built and belong to the quick suite.
package passthrough

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"k8s.io/client-go/rest"

	"github.com/tombolo-sync/tombolo/cloudhub/callsrv"
	"github.com/tombolo-sync/tombolo/cloudhub/identity"
	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/cloudhub/source/kube"
	"github.com/tombolo-sync/tombolo/edgehub/call"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	edgeName  = "edge-1"
	hubSecret = "token-of-the-hub"
	patience  = 30 * time.Second // for what must happen, however slow the machine is
)

// rig is an API server, a hub and an edge.
type rig struct {
	t    *testing.T
	edge *httptest.Server // where clients ask
	conn atomic.Pointer[grpc.ClientConn]
	hub  *callsrv.Server
}

// Conn is the edge's connection.
func (r *rig) Conn() grpc.ClientConnInterface {
	if c := r.conn.Load(); c != nil {
		return c
	}
	return nil
}

// Contact is when the hub was last heard of.
func (r *rig) Contact() (bool, time.Time) { return r.conn.Load() != nil, time.Unix(1700000000, 0) }

const everything = `scopes:
- name: all
  edges: ["*"]
  rules: [{resource: pods}]
`

// newRig returns a rig over an API server.
func newRig(t *testing.T, api http.Handler, tune ...func(*callsrv.Config)) *rig {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	return newRigAt(t, server.URL, tune...)
}

func newRigAt(t *testing.T, url string, tune ...func(*callsrv.Config)) *rig {
	t.Helper()
	r := &rig{t: t}
	cloud, err := kube.New(kube.Config{
		REST: &rest.Config{Host: url, BearerToken: hubSecret, UserAgent: "the-hub"}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	file, err := scope.Parse([]byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	cfg := callsrv.Config{Cloud: cloud, Scopes: file, Identity: identity.Rule{Insecure: true}, Logger: logger(t)}
	for _, f := range tune {
		f(&cfg)
	}
	if r.hub, err = callsrv.New(cfg); err != nil {
		t.Fatal(err)
	}
	r.serve()
	calls, err := call.New(call.Config{Edge: edgeName, Link: r, Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	r.edge = httptest.NewServer(calls)
	t.Cleanup(r.edge.Close)
	return r
}

func (r *rig) serve() { r.serveWith(func(s *grpc.Server) { r.hub.Register(s) }) }

// serveWith connects the edge to a hub with the services given.
func (r *rig) serveWith(register func(*grpc.Server)) {
	lis := bufconn.Listen(64 << 10)
	server := grpc.NewServer(grpc.MaxConcurrentStreams(r.hub.MaxStreams()), grpc.StaticStreamWindowSize(64<<10))
	register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:///hub", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(64<<10), grpc.WithDisableRetry(),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		r.t.Fatal(err)
	}
	r.conn.Store(conn)
	r.t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		r.hub.Wait()
		if err := <-served; err != nil {
			r.t.Error(err)
		}
	})
}

// cut ends the connection, and with it all calls.
func (r *rig) cut() {
	if c := r.conn.Swap(nil); c != nil {
		_ = c.Close()
	}
}

// client is one that a test can look behind: it follows nothing and unpacks nothing.
func (r *rig) client() *http.Client {
	tr := &http.Transport{DisableCompression: true}
	r.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{
		Transport:     tr,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// ask sends one request and reads the whole answer.
func (r *rig) ask(method, path, body string, header ...string) (*http.Response, string) {
	r.t.Helper()
	req, err := http.NewRequest(method, r.edge.URL+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := r.client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp, string(raw)
}

func logger(t *testing.T) *slog.Logger {
	w := &testWriter{t: t}
	t.Cleanup(w.end)
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// testWriter logs for as long as the test lasts: a handler whose stream was cut may write its last line behind that.
type testWriter struct {
	mu sync.Mutex
	t  *testing.T // nil when the test has ended; guarded by mu
}

func (w *testWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t != nil {
		w.t.Logf("%s", p[:len(p)-1])
	}
	return len(p), nil
}

func (w *testWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t = nil
}
