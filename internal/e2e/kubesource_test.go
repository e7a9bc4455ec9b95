//go:build e2e

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/cloudhub/source/kube"
	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// objectsPerResource is how many objects of each kind the tests write.
const objectsPerResource = 500

const widgetCRD = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"widgets.ex.io"},"spec":{"group":"ex.io","scope":"Namespaced",
"names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
"versions":[{"name":"v1","served":true,"storage":true,"selectableFields":[{"jsonPath":".spec.color"}],
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",
"x-kubernetes-preserve-unknown-fields":true,"properties":{"color":{"type":"string"}}}}}}}]}}`

// sample is a resource with the way to write an object of it.
type sample struct {
	gr   schema.GroupResource
	path string // of the collection in namespace default
	body func(name string, n int) string
}

// odd is text that encoders like to spell in different ways.
const odd = `<a href=\"x\">&amp;</a> \u2028 \ud83d\ude00 é \u0001 \\ \/`

var samples = []sample{
	{schema.GroupResource{Resource: "configmaps"}, "/api/v1/namespaces/default/configmaps", func(name string, n int) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"b":"2","a":"%d"},"annotations":{"odd":"%s"}},"data":{"n":"%d","odd":"%s"},"binaryData":{"x":"AAEC/w=="}}`,
			name, n%7, odd, n, odd)
	}},
	{schema.GroupResource{Resource: "pods"}, "/api/v1/namespaces/default/pods", func(name string, n int) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"n":"%d"},"annotations":{"odd":"%s"}},"spec":{"nodeName":"node-%d","automountServiceAccountToken":false,
			"containers":[{"name":"c","image":"busybox","args":["%s"],"resources":{"requests":{"cpu":"0.1","memory":"1e6"}}}]}}`,
			name, n, odd, n%5, odd)
	}},
	{schema.GroupResource{Group: "ex.io", Resource: "widgets"}, "/apis/ex.io/v1/namespaces/default/widgets", func(name string, n int) string {
		return fmt.Sprintf(`{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":%q,"annotations":{"odd":"%s"}},
			"spec":{"color":"c%d","zz":1.50,"aa":[1e3,9007199254740993,-0.0,null,{"odd":"%s"}]}}`, name, odd, n%3, odd)
	}},
}

// startKube runs a source until the test ends.
func startKube(t *testing.T, config *rest.Config) *kube.Kube {
	t.Helper()
	k, err := kube.New(kube.Config{REST: config, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- k.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
	return k
}

func openLog(t *testing.T, k *kube.Kube, gr schema.GroupResource) *watchlog.Log {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log, _, err := k.Open(ctx, gr)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-log.Ready():
	case <-ctx.Done():
		t.Fatalf("%s is not ready", gr)
	}
	return log
}

// readEvents returns the events behind a revision until done says so, and whether one of them was in a gap.
func readEvents(t *testing.T, log *watchlog.Log, after uint64, done func([]*watchlog.Event) bool) (events []*watchlog.Event, gap bool) {
	t.Helper()
	wake := make(watchlog.Signal, 1)
	r, err := log.NewReader(after, wake)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	deadline := time.After(time.Minute)
	for {
		page, err := r.Read(make([]*watchlog.Event, 0, 64))
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, page.Events...)
		gap = gap || !page.Gap.Empty()
		if len(page.Events) > 0 || page.More {
			continue
		}
		if done(events) {
			return events, gap
		}
		select {
		case <-wake:
		case <-deadline:
			t.Fatalf("only %d events", len(events))
		}
	}
}

// endsWith tells whether the last event is about the object called last.
func endsWith(last string) func([]*watchlog.Event) bool {
	return func(events []*watchlog.Event) bool {
		return len(events) > 0 && events[len(events)-1].Object.Name() == last
	}
}

// hasAll tells whether there are n events.
func hasAll(n int) func([]*watchlog.Event) bool {
	return func(events []*watchlog.Event) bool { return len(events) >= n }
}

// sameAsGet holds every object of the log against a GET, byte by byte.
func (c *cloud) sameAsGet(s sample, log *watchlog.Log, want int) {
	c.t.Helper()
	var g errgroup.Group
	g.SetLimit(8)
	n := 0
	for o := range log.Snapshot().All("") {
		if o.Namespace() != "default" || !strings.HasPrefix(o.Name(), "object-") {
			continue
		}
		n++
		g.Go(func() error {
			got, err := c.call(http.MethodGet, s.path+"/"+o.Name(), "")
			if err == nil && string(o.JSON())+"\n" != string(got) {
				err = fmt.Errorf("%s %s:\nlog %s\nGET %s", s.gr, o.Key(), o.JSON(), got)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		c.t.Error(err)
	}
	if n != want {
		c.t.Errorf("%s: %d objects, want %d", s.gr, n, want)
	}
}

// sameAsWatch holds the log's events against those of a plain watch: type, order, and bytes, the revisions of
// deletions included.
func sameAsWatch(t *testing.T, s sample, events []*watchlog.Event, frames []frame) {
	t.Helper()
	if len(events) != len(frames) {
		t.Fatalf("%s: %d events, the watch had %d", s.gr, len(events), len(frames))
	}
	for i, e := range events {
		if got := e.Object.AppendJSON(nil, e.Shown); e.Type.String() != frames[i].Type || !bytes.Equal(got, frames[i].Object) {
			t.Fatalf("%s: event %d:\nlog   %s %s\nwatch %s %s", s.gr, i, e.Type, got, frames[i].Type, frames[i].Object)
		}
	}
}

func TestKubeSourceAgainstARealAPIServer(t *testing.T) {
	server := cluster.New(t, cluster.Config{})
	c := newCloud(t, server)
	c.createCRD()
	for _, s := range samples {
		c.create(s, 0, objectsPerResource/2)
	}

	t.Run("WatchList and watch keep the bytes and revisions", func(t *testing.T) {
		testBytes(t, &cloud{t, c.client, c.url}, restConfig(server), true)
	})
	t.Run("LIST and watch keep the bytes and revisions", func(t *testing.T) {
		config := restConfig(server)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return withoutWatchList{next} })
		testBytes(t, &cloud{t, c.client, c.url}, config, false)
	})
	t.Run("deletions arrive after the hub was cut off", func(t *testing.T) {
		testCutOff(t, &cloud{t, c.client, c.url}, server)
	})
	t.Run("documents are the server's", func(t *testing.T) {
		testDocuments(t, &cloud{t, c.client, c.url}, restConfig(server))
	})
	t.Run("a CRD goes and comes back", func(t *testing.T) {
		testCRD(t, &cloud{t, c.client, c.url}, restConfig(server))
	})
}

// testBytes writes half of the objects, unless they are there, changes some, deletes some, and compares.
func testBytes(t *testing.T, c *cloud, config *rest.Config, write bool) {
	k := startKube(t, config)
	for _, s := range samples {
		log := openLog(t, k, s.gr)
		start := log.Rev()
		plain := c.watch(strings.Replace(s.path, "/namespaces/default", "", 1), start)
		if write {
			c.create(s, objectsPerResource/2, objectsPerResource)
		}
		c.each(0, 50, func(n int) error {
			_, err := c.call(http.MethodPatch, s.path+"/"+objectName(n), `{"metadata":{"annotations":{"patched":"`+odd+time.Now().String()+`"}}}`,
				"Content-Type", "application/merge-patch+json")
			return err
		})
		c.each(50, 80, func(n int) error {
			if _, err := c.call(http.MethodDelete, s.path+"/"+objectName(n)+"?gracePeriodSeconds=0", ""); err != nil {
				return err
			}
			_, err := c.call(http.MethodPost, s.path, s.body(objectName(n), n))
			return err
		})
		last := fmt.Sprintf("last-%t", write)
		c.must(http.MethodPost, s.path, s.body(last, 1))
		events, gap := readEvents(t, log, start, endsWith(last))
		if gap {
			t.Error("a gap in what was watched")
		}
		sameAsWatch(t, s, events, plain.upTo(t, last))
		c.sameAsGet(s, log, objectsPerResource)
	}
}

// withoutWatchList is an API server that refuses sendInitialEvents.
type withoutWatchList struct{ next http.RoundTripper }

func (w withoutWatchList) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Query().Get("sendInitialEvents") != "true" {
		return w.next.RoundTrip(req)
	}
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no WatchList","reason":"Invalid","code":422}`
	return &http.Response{
		StatusCode: http.StatusUnprocessableEntity, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: req,
	}, nil
}

// link is the network between the hub and the API server.
type link struct {
	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

func (l *link) dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, errors.New("the link is down")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		l.conns = append(l.conns, conn)
	}
	return conn, err
}

func (l *link) set(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
	if down {
		for _, c := range l.conns {
			_ = c.Close()
		}
		l.conns = nil
	}
}

func testCutOff(t *testing.T, c *cloud, server *cluster.Cluster) {
	s := samples[0]
	wire := &link{}
	config := restConfig(server)
	config.Dial = wire.dial
	k := startKube(t, config)
	log := openLog(t, k, s.gr)
	drop := func(from, to int) {
		c.each(from, to, func(n int) error {
			_, err := c.call(http.MethodDelete, s.path+"/"+objectName(n), "")
			return err
		})
	}

	start := log.Rev()
	plain := c.watch("/api/v1/configmaps", start)
	wire.set(true)
	drop(100, 120)
	c.must(http.MethodPost, s.path, s.body("last-cut", 1))
	wire.set(false)
	events, gap := readEvents(t, log, start, endsWith("last-cut"))
	if gap {
		t.Error("a gap where the server still had the history")
	}
	sameAsWatch(t, s, events, plain.upTo(t, "last-cut"))

	start = log.Rev()
	wire.set(true)
	drop(120, 140)
	var list struct {
		Metadata struct {
			ResourceVersion int64 `json:"resourceVersion,string"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(c.must(http.MethodGet, "/api/v1/configmaps?limit=1", ""), &list); err != nil {
		t.Fatal(err)
	}
	if err := server.Compact(t.Context(), list.Metadata.ResourceVersion); err != nil {
		t.Fatal(err)
	}
	plain.stop()
	if err := server.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	if err := server.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	wire.set(false)
	events, gap = readEvents(t, log, start, hasAll(20))
	if !gap {
		t.Error("no gap where the server had lost the history")
	}
	for _, e := range events {
		if e.Type != watchlog.Deleted {
			t.Errorf("%s %s", e.Type, e.Object.Key())
		}
	}
	c.sameAsGet(s, log, objectsPerResource-40)
}

func testDocuments(t *testing.T, c *cloud, config *rest.Config) {
	k := startKube(t, config)
	openLog(t, k, samples[0].gr)
	ns := struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}{}
	if err := json.Unmarshal(c.must(http.MethodGet, "/api/v1/namespaces/kube-system", ""), &ns); err != nil || ns.Metadata.UID != k.Epoch() {
		t.Errorf("epoch %q, kube-system has %q (%v)", k.Epoch(), ns.Metadata.UID, err)
	}
	seen := map[string]bool{}
	for _, d := range k.Documents().All() {
		seen[d.Path] = true
		accept := d.Accept
		if accept == "" {
			accept = d.MediaType // that of keys is no plain JSON
		}
		resp, err := c.send(t.Context(), http.MethodGet, d.Path, "", "Accept", accept)
		if err != nil {
			t.Error(err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(body) != d.Body.String() || resp.Header.Get("Content-Type") != d.MediaType || resp.Header.Get("ETag") != d.ETag {
			t.Errorf("%s for %q: %s %s %s, the server has %s", d.Path, d.Accept, d.MediaType, d.ETag, d.Body, body)
		}
	}
	for _, path := range []string{"/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/apis/ex.io/v1", "/version"} {
		if !seen[path] {
			t.Errorf("no document %s", path)
		}
	}
}

func testCRD(t *testing.T, c *cloud, config *rest.Config) {
	k := startKube(t, config)
	s := samples[2]
	log := openLog(t, k, s.gr)
	start, had := log.Rev(), log.Snapshot().Len()
	c.must(http.MethodDelete, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.ex.io", "")
	if events, _ := readEvents(t, log, start, hasAll(had)); events[had-1].Type != watchlog.Deleted {
		t.Errorf("last event %s", events[had-1].Type)
	}
	select {
	case <-log.Done():
	case <-time.After(time.Minute):
		t.Fatal("the log of a resource that is gone stays open")
	}
	if _, _, err := k.Open(t.Context(), s.gr); !errors.Is(err, source.ErrUnknownResource) {
		t.Errorf("Open: %v, want ErrUnknownResource", err)
	}
	c.createCRD()
	c.create(s, 0, 3)
	deadline := time.Now().Add(time.Minute)
	for {
		again, _, err := k.Open(t.Context(), s.gr)
		if err == nil {
			<-again.Ready()
			c.sameAsGet(s, again, 3)
			return
		}
		if !errors.Is(err, source.ErrUnknownResource) || time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
