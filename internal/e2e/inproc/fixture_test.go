// Package inproc holds tests of a hub's service and an edge's session together, in one process over loopback, with a
// source that the test writes to. They need nothing built and belong to the quick suite.
package inproc

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/cloudhub/syncsrv"
	"github.com/tombolo-sync/tombolo/edgehub"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	podsGR  = schema.GroupResource{Resource: "pods"}
	podsGVR = podsGR.WithVersion("v1")
)

// fakeCloud is a source that a test writes to. It survives the hubs that are put over it: each hub gets logs of its own,
// as after a restart.
type fakeCloud struct {
	t     *testing.T
	epoch string

	mu      sync.Mutex
	rev     uint64
	objects map[string][]byte // of pods, by key
	current *fakeSource
	second  *fakeSource // of another hub at the same time; see otherBytes
	known   bool        // whether the resource exists
	// printed is what every pod's cells hold; "" when the cloud gives no tables.
	printed string
}

func newFakeCloud(t *testing.T) *fakeCloud {
	return &fakeCloud{t: t, epoch: "cluster-1", rev: 100, objects: map[string][]byte{}, known: true}
}

// put creates or changes a pod and returns its revision.
func (c *fakeCloud) put(name, uid, node string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rev++
	raw := fmt.Appendf(nil, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"ns","uid":%q,`+
		`"resourceVersion":"%d"},"spec":{"nodeName":%q}}`, name, uid, c.rev, node)
	c.objects["ns/"+name] = raw
	c.commit("ns/"+name, raw)
	return c.rev
}

// noise returns letters and digits that take n bytes or more however they are compressed.
func noise(n int) string {
	raw := make([]byte, n)
	for i := range raw {
		raw[i] = byte(rand.Uint32()) //nolint:gosec // any bytes will do
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// remove deletes a pod and returns the revision of that.
func (c *fakeCloud) remove(name string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rev++
	delete(c.objects, "ns/"+name)
	c.commit("ns/"+name, nil)
	return c.rev
}

// bookmark moves the position without an event.
func (c *fakeCloud) bookmark() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rev++
	for _, s := range c.sources() {
		if err := s.log.Commit(watchlog.Batch{Rev: c.rev}); err != nil {
			c.t.Error(err)
		}
	}
	return c.rev
}

func (c *fakeCloud) decode(raw []byte) *watchlog.Object {
	var cells []byte
	if c.printed != "" {
		cells = fmt.Appendf(nil, "[%q]", c.printed)
	}
	o, err := watchlog.NewDecoder(pods()).DecodeRow(raw, cells)
	if err != nil {
		panic(err) // a fault of the test
	}
	return o
}

// commit tells the sources that an object is what raw says now, or is gone.
func (c *fakeCloud) commit(key string, raw []byte) {
	for _, s := range c.sources() {
		op := watchlog.Op{Key: key, Rev: c.rev}
		if raw != nil {
			op.Object = s.decode(raw)
		}
		if err := s.log.Commit(s.log.Snapshot().Plan([]watchlog.Op{op}, op.Rev)); err != nil {
			c.t.Error(err)
		}
	}
}

// sources are those that follow the cloud. c.mu is held.
func (c *fakeCloud) sources() (out []*fakeSource) {
	for _, s := range []*fakeSource{c.current, c.second} {
		if s != nil && s.log.IsReady() {
			out = append(out, s)
		}
	}
	return out
}

func pods() *watchlog.Resource {
	return &watchlog.Resource{
		Version: "v1", Name: "pods", Kind: "Pod", ListKind: "PodList", Namespaced: true,
		Fields: []watchlog.Field{{Label: "spec.nodeName", Path: "spec.nodeName", Indexed: true}},
	}
}

// fakeSource is the cloud as one hub sees it.
type fakeSource struct {
	cloud *fakeCloud
	log   *watchlog.Log
	docs  *apidoc.Set
	opens atomic.Int32 // calls of Open
	users atomic.Int32 // of the log
	// rewrite, if any, is what becomes of the cloud's bytes here.
	rewrite func([]byte) []byte
}

func (s *fakeSource) decode(raw []byte) *watchlog.Object {
	if s.rewrite != nil {
		raw = s.rewrite(raw)
	}
	return s.cloud.decode(raw)
}

// otherBytes returns the source of a second hub, which follows the cloud beside the first one and has other bytes of the
// same revisions, as after an upgrade of the API server. load fills it.
func (c *fakeCloud) otherBytes(rewrite func([]byte) []byte) *fakeSource {
	first := c.current
	s := c.source()
	s.rewrite = rewrite
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current, c.second = first, s
	return s
}

// source returns a new view of the cloud with an empty memory; load fills it.
func (c *fakeCloud) source() *fakeSource {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := pods()
	if c.printed != "" {
		r.Columns = fmt.Sprintf(`[{"name":%q}]`, c.printed)
	}
	s := &fakeSource{cloud: c, log: watchlog.New(r, watchlog.Config{}), docs: apidoc.NewSet()}
	s.docs.Replace([]apidoc.Document{{Path: "/version", MediaType: "application/json", Body: apidoc.Pack([]byte(`{"major":"1"}`))}})
	c.current = s
	return s
}

// load finishes the hub's first list.
func (s *fakeSource) load() {
	c := s.cloud
	c.mu.Lock()
	defer c.mu.Unlock()
	content := watchlog.Content{Rev: c.rev, Floor: c.rev}
	for _, raw := range c.objects {
		content.Objects = append(content.Objects, s.decode(raw))
	}
	if err := s.log.Load(content); err != nil {
		c.t.Error(err)
	}
}

// relist makes the hub's log catch up with what it did not see: the revisions between are a gap.
func (s *fakeSource) relist() {
	c := s.cloud
	c.mu.Lock()
	defer c.mu.Unlock()
	var objects []*watchlog.Object
	for _, raw := range c.objects {
		objects = append(objects, s.decode(raw))
	}
	if err := s.log.Commit(s.log.Snapshot().PlanReplace(objects, c.rev)); err != nil {
		c.t.Error(err)
	}
}

func (s *fakeSource) Epoch() string {
	s.cloud.mu.Lock()
	defer s.cloud.mu.Unlock()
	return s.cloud.epoch
}

func (s *fakeSource) Documents() *apidoc.Set { return s.docs }

func (s *fakeSource) Open(_ context.Context, gr schema.GroupResource) (*watchlog.Log, func(), error) {
	s.opens.Add(1)
	s.cloud.mu.Lock()
	defer s.cloud.mu.Unlock()
	if gr != podsGR || !s.cloud.known {
		return nil, nil, fmt.Errorf("%w: %s", apidoc.ErrUnknownResource, gr)
	}
	s.users.Add(1)
	return s.log, sync.OnceFunc(func() { s.users.Add(-1) }), nil
}

// Held is Open for who does not want to wait.
func (s *fakeSource) Held(gr schema.GroupResource) (*watchlog.Log, func(), bool) {
	if !s.log.IsReady() {
		return nil, nil, false
	}
	log, release, err := s.Open(context.Background(), gr)
	return log, release, err == nil
}

// heldBy returns src when it can tell what it has opened.
func heldBy(src syncsrv.Source) syncsrv.Held {
	h, _ := src.(syncsrv.Held)
	return h
}

// scopes gives every edge the same, and can be changed.
type scopes struct {
	mu      sync.Mutex
	file    *scope.File
	changed chan struct{}
}

func newScopes(t *testing.T, yaml string) *scopes {
	s := &scopes{changed: make(chan struct{})}
	s.set(t, yaml)
	return s
}

func (s *scopes) set(t *testing.T, yaml string) {
	t.Helper()
	file, err := scope.Parse([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file = file
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *scopes) For(edge string) scope.Scope {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.For(edge)
}

func (s *scopes) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

const (
	allPods = `{scopes: [{name: s, edges: ["*"], rules: [{resource: pods}]}]}`
	myPods  = `{scopes: [{name: s, edges: ["*"], nodes: [mine], rules: [{resource: pods, boundToNode: spec.nodeName}]}]}`
	noPods  = `{scopes: [{name: s, edges: ["*"], rules: [{resource: nodes}]}]}`
)

// startHub serves edges on an address until the returned function is called.
func startHub(t *testing.T, src syncsrv.Source, sc syncsrv.Scopes, addr string) (string, func()) {
	t.Helper()
	lis, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return lis.Addr().String(), serveHub(t, src, sc, lis)
}

// serveHub serves edges on a listener until the returned function is called.
func serveHub(t *testing.T, src syncsrv.Source, sc syncsrv.Scopes, lis net.Listener) func() {
	t.Helper()
	srv, err := syncsrv.New(syncsrv.Config{
		Source: src, Held: heldBy(src), Prover: proverOf(src), Scopes: sc, Credentials: insecure.NewCredentials(), Insecure: true, Logger: logger(t, "hub"),
		ProgressInterval: 50 * time.Millisecond, CheckInterval: 100 * time.Millisecond, ForgetAfter: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	var once sync.Once
	stop := func() {
		once.Do(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
			defer cancel()
			srv.Shutdown(ctx)
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// edge is a running agent.
type edge struct {
	*edgehub.Agent
	t    *testing.T
	hub  string // the first one's address
	stop func()
}

// startEdge runs an edge over a data directory until its stop is called.
func startEdge(t *testing.T, dir string, hubs ...string) *edge {
	t.Helper()
	return startEdgeWith(t, edgehub.Config{DataDir: dir, Hubs: hubs})
}

// startEdgeWith is startEdge with more of a configuration than the directory and hubs.
func startEdgeWith(t *testing.T, cfg edgehub.Config) *edge {
	t.Helper()
	cfg.Name, cfg.Credentials, cfg.Logger = "edge-1", insecure.NewCredentials(), logger(t, "edge")
	cfg.MinBackoff, cfg.MaxBackoff = 5*time.Millisecond, 20*time.Millisecond
	agent, err := edgehub.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	e := &edge{Agent: agent, t: t, hub: cfg.Hubs[0]}
	var once sync.Once
	e.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(e.stop)
	return e
}

func logger(t *testing.T, at string) *slog.Logger {
	return slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelInfo})).With("at", at)
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", p[:len(p)-1])
	return len(p), nil
}

// pods returns the log of pods, once there is one.
func (e *edge) pods() *watchlog.Log {
	e.t.Helper()
	var l *watchlog.Log
	e.eventually("the edge holds pods", func() bool {
		var err error
		l, err = e.Log(podsGVR)
		return err == nil && l.IsReady()
	})
	return l
}

// waitFor waits until the edge is at a position.
func (e *edge) waitFor(rev uint64) {
	e.t.Helper()
	e.eventually(fmt.Sprint("the edge is at ", rev), func() bool { return e.pods().Rev() >= rev })
}

// eventually waits for a state that must come, however slow the machine is.
func (e *edge) eventually(what string, ok func() bool) {
	e.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			e.t.Fatalf("not so: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// holds checks that the edge holds exactly what the cloud does, of the nodes given or of all.
func (e *edge) holds(c *fakeCloud, nodes ...string) {
	e.t.Helper()
	snap := e.pods().Snapshot()
	c.mu.Lock()
	defer c.mu.Unlock()
	want := map[string]string{}
	for k, raw := range c.objects {
		if o := c.decode(raw); len(nodes) == 0 || slices.Contains(nodes, o.Field(0)) {
			want[k] = string(raw)
		}
	}
	got := map[string]string{}
	for o := range snap.All("") {
		got[o.Key()] = string(o.JSON())
	}
	if !maps.Equal(got, want) {
		e.t.Fatalf("the edge holds\n%v\nthe cloud\n%v", got, want)
	}
}
