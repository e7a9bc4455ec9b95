package kube

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func TestMain(m *testing.M) {
	// The second handler sleeps by a clock that it keeps across tests, each of which has a time of its own.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	goleak.VerifyTestMain(m)
}

var (
	pods    = schema.GroupResource{Resource: "pods"}
	widgets = schema.GroupResource{Group: "ex.io", Resource: "widgets"}
)

// pipes is a network within the process, so that tests can run in a synctest bubble.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { return nil }
func (p *pipes) Addr() net.Addr { return &net.IPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// harness is a Kube that runs against a fake API server.
type harness struct {
	*Kube
	t   *testing.T
	api *fakeAPI

	stop func() // ends Run and waits for it
}

// bubble runs test with a Kube in a synctest bubble. Everything has ended when it returns.
func bubble(t *testing.T, api *fakeAPI, test func(h *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api.enter()
		net := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{Handler: api, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
		served := make(chan error)
		go func() { served <- server.Serve(net) }()

		transport := &http.Transport{DialContext: net.dial}
		k, err := New(Config{
			REST: &rest.Config{Host: "http://fake", Transport: transport}, Logger: slog.New(slog.NewTextHandler(testLog{t}, nil)),
			IdleAfter: 10 * time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- k.Run(ctx) }()

		stop := sync.OnceFunc(func() {
			cancel()
			if err := <-ran; err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		test(&harness{k, t, api, stop})
		stop()
		if n := api.settledWatches(); n != 0 {
			t.Errorf("%d watches are still open", n)
		}
		transport.CloseIdleConnections()
		close(net.done)
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, io.EOF) && err == nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

func (f *fakeAPI) settledWatches() int {
	synctest.Wait()
	return f.openWatches()
}

type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Logf("%s", b[:len(b)-1])
	return len(b), nil
}

// open opens a resource that must open.
func (h *harness) open(gr schema.GroupResource) (*watchlog.Log, func()) {
	h.t.Helper()
	log, release, err := h.Open(h.t.Context(), gr)
	if err != nil {
		h.t.Fatal(err)
	}
	return log, release
}

// follow opens a resource and waits for its first state.
func (h *harness) follow(gr schema.GroupResource) *watchlog.Log {
	h.t.Helper()
	log, _ := h.open(gr)
	<-log.Ready()
	return log
}

// until waits for the log to reach a revision.
func (h *harness) until(log *watchlog.Log, rev uint64) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Hour)
	defer cancel()
	if err := log.WaitRev(ctx, rev); err != nil {
		h.t.Fatalf("log is at %d, not at %d: %v", log.Rev(), rev, err)
	}
}

// events returns what the log has behind a position: each event as "ADDED ns/name 103", and whether there was a gap.
func (h *harness) events(log *watchlog.Log, after uint64) ([]string, bool) {
	h.t.Helper()
	r, err := log.NewReader(after, make(watchlog.Signal, 1))
	if err != nil {
		h.t.Fatal(err)
	}
	defer r.Close()
	var all []string
	gap := false
	for {
		page, err := r.Read(make([]*watchlog.Event, 0, 10))
		if err != nil {
			h.t.Fatal(err)
		}
		gap = gap || page.Gap.To > page.Gap.From
		for _, e := range page.Events {
			all = append(all, e.Type.String()+" "+e.Object.Key()+" "+formatRev(e.Rev))
		}
		if !page.More && len(page.Events) == 0 {
			return all, gap
		}
	}
}
