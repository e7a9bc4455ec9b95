package litesrv

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

var (
	configmaps = &watchlog.Resource{
		Version: "v1", Name: "configmaps", Kind: "ConfigMap", ListKind: "ConfigMapList", Namespaced: true,
	}
	pods = &watchlog.Resource{
		Version: "v1", Name: "pods", Kind: "Pod", ListKind: "PodList", Namespaced: true,
		Fields: []watchlog.Field{
			{Label: "spec.nodeName", Path: "spec.nodeName", Indexed: true},
			{Label: "status.phase", Path: "status.phase"},
			{Label: "spec.hostNetwork", Path: "spec.hostNetwork", Default: "false"},
		},
	}
	nodes = &watchlog.Resource{
		Version: "v1", Name: "nodes", Kind: "Node", ListKind: "NodeList",
		Fields: []watchlog.Field{{Label: "spec.unschedulable", Path: "spec.unschedulable", Default: "false"}},
	}
	namespaces = &watchlog.Resource{
		Version: "v1", Name: "namespaces", Kind: "Namespace", ListKind: "NamespaceList",
		Fields: []watchlog.Field{{Label: "status.phase", Path: "status.phase"}},
	}
	volumes = &watchlog.Resource{
		Version: "v1", Name: "persistentvolumes", Kind: "PersistentVolume", ListKind: "PersistentVolumeList",
	}
	coreEvents = &watchlog.Resource{
		Version: "v1", Name: "events", Kind: "Event", ListKind: "EventList", Namespaced: true,
		Fields: []watchlog.Field{{Label: "reason", Path: "reason"}},
	}
	deployments = &watchlog.Resource{
		Group: "apps", Version: "v1", Name: "deployments", Kind: "Deployment", ListKind: "DeploymentList", Namespaced: true,
	}
	widgets = &watchlog.Resource{
		Group: "ex.io", Version: "v1", Name: "widgets", Kind: "Widget", ListKind: "WidgetList", Namespaced: true,
		Custom: true, Fields: []watchlog.Field{{Label: "spec.color", Path: "spec.color"}},
	}
	gizmos = &watchlog.Resource{
		Group: "ex.io", Version: "v1", Name: "gizmos", Kind: "Gizmo", ListKind: "GizmoList", Custom: true,
	}
)

// thing is an object of a test.
type thing struct {
	ns, name string
	labels   string // the inside of a JSON object: `"app":"a"`
	rest     string // what follows the metadata: `,"spec":{"nodeName":"n1"}`
}

// json returns the object at a revision, in the key order of its type.
func (x thing) json(r *watchlog.Resource, rev uint64) string {
	var meta []string
	add := func(format string, args ...any) { meta = append(meta, fmt.Sprintf(format, args...)) }
	if r.Custom && x.labels != "" {
		add(`"labels":{%s}`, x.labels)
	}
	add(`"name":%q`, x.name)
	if x.ns != "" {
		add(`"namespace":%q`, x.ns)
	}
	if r.Custom {
		add(`"resourceVersion":"%d"`, rev)
		add(`"uid":"u-%s-%s"`, x.ns, x.name)
		return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{%s}%s}`, r.APIVersion(), r.Kind, strings.Join(meta, ","), x.rest)
	}
	add(`"uid":"u-%s-%s"`, x.ns, x.name)
	add(`"resourceVersion":"%d"`, rev)
	if x.labels != "" {
		add(`"labels":{%s}`, x.labels)
	}
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{%s}%s}`, r.Kind, r.APIVersion(), strings.Join(meta, ","), x.rest)
}

// item returns the object as a list has it.
func (x thing) item(r *watchlog.Resource, rev uint64) string {
	text := x.json(r, rev)
	if r.Custom {
		return text
	}
	return "{" + text[strings.Index(text, `"metadata"`):]
}

// world is a cloud in memory, with one revision for all resources as in etcd, and the Backend over its logs.
type world struct {
	t    testing.TB
	docs *apidoc.Set

	mu   sync.Mutex // guards all below
	rev  uint64
	logs map[schema.GroupVersionResource]*watchlog.Log
	errs map[schema.GroupVersionResource]error
}

func newWorld(t testing.TB, rev uint64) *world {
	return &world{
		t: t, rev: rev, docs: apidoc.NewSet(),
		logs: map[schema.GroupVersionResource]*watchlog.Log{}, errs: map[schema.GroupVersionResource]error{},
	}
}

func (w *world) Log(gvr schema.GroupVersionResource) (*watchlog.Log, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.errs[gvr]; err != nil {
		return nil, err
	}
	if l := w.logs[gvr]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("%s: %w", gvr, ErrUnknownResource)
}

func (w *world) Documents() *apidoc.Set { return w.docs }

// cut makes all that is held fall behind the cloud.
func (w *world) cut(last time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.logs {
		l.SetFollowing()
		l.SetLost(last)
	}
}

// open adds a resource whose first sync is not done.
func (w *world) open(r *watchlog.Resource, c watchlog.Config) *watchlog.Log {
	l := watchlog.New(r, c)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logs[r.GroupVersionResource()] = l
	return l
}

// load adds a resource with objects that were all written at the revision before, except as revs says.
func (w *world) load(r *watchlog.Resource, things ...thing) *watchlog.Log {
	return w.loadWindow(r, watchlog.Config{}, things...)
}

func (w *world) loadWindow(r *watchlog.Resource, c watchlog.Config, things ...thing) *watchlog.Log {
	w.t.Helper()
	l := w.open(r, c)
	content := watchlog.Content{Rev: w.now(), Floor: w.now()}
	for _, x := range things {
		content.Objects = append(content.Objects, w.decode(l, x.json(r, w.now())))
	}
	if err := l.Load(content); err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) decode(l *watchlog.Log, raw string) *watchlog.Object {
	w.t.Helper()
	o, err := l.Decoder().Decode([]byte(raw))
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

func (w *world) now() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rev
}

func (w *world) next() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rev++
	return w.rev
}

// write creates or updates an object and returns its revision.
func (w *world) write(l *watchlog.Log, x thing) uint64 {
	w.t.Helper()
	rev := w.next()
	o := w.decode(l, x.json(l.Resource(), rev))
	w.commit(l, l.Snapshot().Plan([]watchlog.Op{{Key: o.Key(), Rev: rev, Object: o}}, rev))
	return rev
}

// remove deletes an object and returns the revision of that.
func (w *world) remove(l *watchlog.Log, key string) uint64 {
	w.t.Helper()
	rev := w.next()
	w.commit(l, l.Snapshot().Plan([]watchlog.Op{{Key: key, Rev: rev}}, rev))
	return rev
}

// bookmark moves the log to the newest revision.
func (w *world) bookmark(l *watchlog.Log) uint64 {
	w.t.Helper()
	rev := w.next()
	w.commit(l, watchlog.Batch{Rev: rev})
	return rev
}

func (w *world) commit(l *watchlog.Log, b watchlog.Batch) {
	w.t.Helper()
	if err := l.Commit(b); err != nil {
		w.t.Error(err)
	}
}

// server returns a server over the world; set changes its configuration.
func (w *world) server(set ...func(*Config)) *Server {
	w.t.Helper()
	c := Config{Backend: w}
	for _, f := range set {
		f(&c)
	}
	s, err := New(c)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// call answers one request without a connection. header is name, value, name, value …
func call(t testing.TB, h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func get(t testing.TB, h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	return call(t, h, http.MethodGet, path, header...)
}

// want compares an answer with what it must be, byte for byte.
func want(t *testing.T, w *httptest.ResponseRecorder, code int, body string) {
	t.Helper()
	if w.Code != code || w.Body.String() != body {
		t.Errorf("got  %d %s\nwant %d %s", w.Code, w.Body, code, body)
	}
}

// list returns the body of a list of a resource at a revision. more is what follows the revision in the metadata of a
// typed list.
func list(r *watchlog.Resource, rev uint64, more string, items ...string) string {
	if r.Custom {
		if more == "" {
			more = `"continue":""`
		}
		return fmt.Sprintf(`{"apiVersion":%q,"items":[%s],"kind":%q,"metadata":{%s,"resourceVersion":"%d"}}`+"\n",
			r.APIVersion(), strings.Join(items, ","), r.ListKind, more, rev)
	}
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d"%s},"items":[%s]}`+"\n",
		r.ListKind, r.APIVersion(), rev, more, strings.Join(items, ","))
}

// failure returns the body of a Status. details is JSON, "" for none.
func failure(code int, reason, message, details string) string {
	if reason != "" {
		reason = fmt.Sprintf(`"reason":%q,`, reason)
	}
	if details != "" {
		details = `"details":` + details + ","
	}
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,%s%s"code":%d}`+"\n",
		message, reason, details, code)
}

// token returns the text of a continue token.
func token(rev int64, start string) string { return continueToken{Rev: rev, Start: start}.encode() }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
