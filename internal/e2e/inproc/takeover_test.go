package inproc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tombolo-sync/tombolo/cloudhub/syncsrv"
	"github.com/tombolo-sync/tombolo/edgehub"
	"github.com/tombolo-sync/tombolo/edgehub/session"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// startDrainable serves edges until the returned function is called, which gives them time to leave.
func startDrainable(t *testing.T, src syncsrv.Source, sc syncsrv.Scopes) (string, func()) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv, err := syncsrv.New(syncsrv.Config{
		Source: src, Scopes: sc, Credentials: insecure.NewCredentials(), Insecure: true, Logger: logger(t, "hub "+lis.Addr().String()),
		ProgressInterval: 50 * time.Millisecond, CheckInterval: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		srv.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return lis.Addr().String(), stop
}

// observed is an edge of which a test sees whether it is ever without a hub, what its watches see, and how it was brought
// up to date.
type observed struct {
	*edge
	reg    *prometheus.Registry
	reader *watchlog.Reader
	revs   []uint64 // of the events that a watch should see
	stop   chan struct{}
	gaps   chan int // how often the edge was found without a hub
}

func observe(t *testing.T, c *fakeCloud, hubs ...string) *observed {
	t.Helper()
	reg := prometheus.NewRegistry()
	o := &observed{
		edge: startEdgeWith(t, edgehub.Config{DataDir: t.TempDir(), Hubs: hubs, Metrics: reg}), reg: reg,
		stop: make(chan struct{}), gaps: make(chan int, 1),
	}
	o.waitFor(c.put("first", "u", "n"))
	o.following()
	var err error
	if o.reader, err = o.pods().NewReader(o.pods().Rev(), make(watchlog.Signal, 1)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.reader.Close)
	go func() {
		gaps := 0
		for {
			select {
			case <-o.stop:
				o.gaps <- gaps
				return
			case <-time.After(time.Millisecond):
				if !o.Calls().Online() {
					gaps++
				}
			}
		}
	}()
	return o
}

// during makes things happen in the cloud until what it is given has returned, and a few more.
func (o *observed) during(c *fakeCloud, what func()) {
	o.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		what()
	}()
	for left := 10; left > 0; left-- {
		select {
		case <-done:
		default:
			left = 10
		}
		o.revs = append(o.revs, c.put(fmt.Sprint("p", len(o.revs)%7), "u", "n"))
		o.waitFor(o.revs[len(o.revs)-1])
	}
}

// check holds what was seen against what should be.
func (o *observed) check(c *fakeCloud, resumes int) {
	o.t.Helper()
	o.following()
	close(o.stop)
	if n := <-o.gaps; n > 0 {
		o.t.Errorf("the edge was without a hub, %d times", n)
	}
	var seen []uint64
	for buf := make([]*watchlog.Event, 0, 64); ; {
		p, err := o.reader.Read(buf)
		if err != nil {
			o.t.Fatal(err)
		}
		for _, e := range p.Events {
			seen = append(seen, e.Rev)
		}
		if !p.More && len(p.Events) == 0 {
			break
		}
	}
	if fmt.Sprint(seen) != fmt.Sprint(o.revs) {
		o.t.Errorf("a watch has seen %d, what happened is %d", seen, o.revs)
	}
	o.holds(c)
	if got, want := o.metric("plans_total"), map[string]string{"PLAN_CHANGES": "1", "PLAN_RESUME": fmt.Sprint(resumes)}; fmt.Sprint(got) != fmt.Sprint(want) {
		o.t.Errorf("the edge was brought up to date by %v, want %v", got, want)
	}
}

// metric returns the values of an edge's metric by its label, "" for none.
func (o *observed) metric(name string) map[string]string {
	w := httptest.NewRecorder()
	promhttp.HandlerFor(o.reg, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	values := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^tombolo_edge_`+name+`(?:\{\w+="([^"]*)"\})? (\S+)$`).FindAllStringSubmatch(w.Body.String(), -1) {
		values[m[1]] = m[2]
	}
	return values
}

// twins returns the sources of two hubs of one cloud.
func twins(t *testing.T) (c *fakeCloud, first, second *fakeSource) {
	t.Helper()
	c = newFakeCloud(t)
	first = c.source()
	first.load()
	second = c.otherBytes(nil)
	second.load()
	return c, first, second
}

// TestDrainLeavesNoHole: an edge whose hub goes away is with another one before it leaves.
func TestDrainLeavesNoHole(t *testing.T) {
	c, first, second := twins(t)
	sc := newScopes(t, allPods)
	a, stop := startDrainable(t, first, sc)
	b, _ := startDrainable(t, second, sc)
	o := observe(t, c, a, b)
	o.during(c, stop)
	o.check(c, 1)
}

// TestDrainWithNobodyElse: an edge that knows no other hub stays until the end, and comes back.
func TestDrainWithNobodyElse(t *testing.T) {
	t.Parallel()
	c := newFakeCloud(t)
	src := c.source()
	src.load()
	sc := newScopes(t, allPods)
	hub, stop := startDrainable(t, src, sc)
	e := startEdge(t, t.TempDir(), hub)
	e.waitFor(c.put("a", "u", "n"))
	e.following()
	stop()
	end := c.put("b", "u", "n")
	startHub(t, src, sc, hub)
	e.waitFor(end)
	e.following()
	e.holds(c)
}

// TestRenewLeavesNoHole: an edge goes over to other credentials, at the same hub.
func TestRenewLeavesNoHole(t *testing.T) {
	c := newFakeCloud(t)
	src := c.source()
	src.load()
	hub, _ := startDrainable(t, src, newScopes(t, allPods))
	o := observe(t, c, hub)
	const times = 5
	for range times {
		o.during(c, func() {
			if err := o.Renew(t.Context(), insecure.NewCredentials()); err != nil {
				t.Error(err)
			}
		})
	}
	o.check(c, times)
	if got := o.metric("sessions_total"); got[""] != fmt.Sprint(times+1) {
		t.Errorf("sessions: %v", got)
	}
}

// badCredentials are those of a certificate that is not accepted.
type badCredentials struct {
	credentials.TransportCredentials
}

func (badCredentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("remote error: tls: bad certificate")
}

func (b badCredentials) Clone() credentials.TransportCredentials { return b }

// TestRefusedRenewTouchesNothing: the session goes on, and so do the credentials.
func TestRefusedRenewTouchesNothing(t *testing.T) {
	c, first, second := twins(t)
	sc := newScopes(t, allPods)
	a, stop := startDrainable(t, first, sc)
	b, _ := startDrainable(t, second, sc)
	o := observe(t, c, a, b)
	o.during(c, func() {
		err := o.Renew(t.Context(), badCredentials{insecure.NewCredentials()})
		if !errors.Is(err, session.ErrRefused) || !strings.Contains(err.Error(), "bad certificate") {
			t.Errorf("renewed: %v", err)
		}
	})
	if got := o.metric("sessions_total"); got[""] != "1" {
		t.Errorf("sessions: %v", got)
	}
	o.during(c, stop)
	o.check(c, 1)
}

// TestRenewWaitsForAHub: credentials that no hub has taken yet are tried until one does, or until nobody wants them.
func TestRenewWaitsForAHub(t *testing.T) {
	t.Parallel()
	c := newFakeCloud(t)
	src := c.source()
	src.load()
	sc := newScopes(t, allPods)
	hub, stop := startDrainable(t, src, sc)
	e := startEdge(t, t.TempDir(), hub)
	e.waitFor(c.put("a", "u", "n"))
	stop()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := e.Renew(ctx, insecure.NewCredentials()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a hub: %v", err)
	}
	renewed := make(chan error, 1)
	go func() { renewed <- e.Renew(t.Context(), insecure.NewCredentials()) }()
	startHub(t, src, sc, hub)
	if err := <-renewed; err != nil {
		t.Error(err)
	}
	e.waitFor(c.put("b", "u", "n"))
}

// TestDrainTellsWhetherThereIsAnotherHub: only then is it of use to let calls go on.
func TestDrainTellsWhetherThereIsAnotherHub(t *testing.T) {
	for _, others := range []int{0, 1} {
		t.Run(fmt.Sprint(others), func(t *testing.T) {
			c, first, second := twins(t)
			sc := newScopes(t, allPods)
			srv, err := syncsrv.New(syncsrv.Config{Source: first, Scopes: sc, Credentials: insecure.NewCredentials(), Insecure: true})
			if err != nil {
				t.Fatal(err)
			}
			lis, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- srv.Serve(lis) }()
			hubs := []string{lis.Addr().String()}
			if others > 0 {
				other, _ := startDrainable(t, second, sc)
				hubs = append(hubs, other)
			}
			e := startEdge(t, t.TempDir(), hubs...)
			e.waitFor(c.put("a", "u", "n"))
			if left := srv.Drain(t.Context()); left != (others > 0) {
				t.Errorf("with %d other hubs: left %v", others, left)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			srv.Shutdown(ctx)
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}
