package kube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fakeAPI is a small API server: discovery, LIST, WATCH, WatchList, bookmarks, 410. It encodes objects itself, so that
// what a test compares is what it sent.
type fakeAPI struct {
	mu        sync.Mutex // guards all below and what the resources hold
	rev       uint64
	resources []*fakeResource
	changed   chan struct{} // closed at the next change
	gate      chan struct{} // requests wait until it is closed; nil when they don't
	down      int           // status that every request is answered with; 0 when up
	version   string        // body of /version
	keys      string        // what tokens are verified with; "" if nobody may read it
	etags     bool          // aggregated discovery carries an ETag
	legacy    bool          // no aggregated discovery
	requests  []string      // "GET path?query"
	watches   int           // open now

	specs      map[string]string // OpenAPI documents, see serveOpenAPILocked; nil: none
	afterIndex func()            // called with the lock held when an OpenAPI index was sent
}

// fakeResource is a resource of a fakeAPI.
type fakeResource struct {
	group, versionName, name, kind string
	namespaced, custom             bool
	verbs                          []string

	objects map[string]fakeObject // by key
	events  []fakeEvent
	floor   uint64 // watches from before it are refused with 410

	status      int           // what requests are answered with; 0 when served
	noWatchList bool          // sendInitialEvents is refused with 422
	stall       time.Duration // between the status of a watch and the error that its position is gone
	cutInitial  bool          // a WatchList ends after its first event, without a bookmark
	fault       chan struct{}
	spell       func(rev uint64) string // how resourceVersions look
	garbage     string                  // sent as the next event's object
	columns     string                  // of its table; "" when it has none
	printed     string                  // what the second cell begins with
	noTable     bool                    // tables are refused with 406
	warning     string                  // sent with every list
	held        bool                    // watches of whole objects show nothing
}

type fakeObject struct {
	rev  uint64
	json string // without kind and apiVersion, for typed resources
}

type fakeEvent struct {
	rev    uint64
	kind   string
	object string
}

func newFakeAPI() *fakeAPI {
	f := &fakeAPI{rev: 100, changed: make(chan struct{}), version: `{"major":"1"}`, etags: true}
	f.add(&fakeResource{versionName: "v1", name: "pods", kind: "Pod", namespaced: true})
	f.add(&fakeResource{versionName: "v1", name: "namespaces", kind: "Namespace"})
	f.add(&fakeResource{versionName: "v1", name: "bindings", kind: "Binding", namespaced: true, verbs: []string{"create"}})
	f.add(&fakeResource{group: "apiextensions.k8s.io", versionName: "v1", name: "customresourcedefinitions",
		kind: "CustomResourceDefinition"})
	f.resource("namespaces").put("", "kube-system", `"uid":"cluster-uid"`, "")
	return f
}

// enter makes the channels that the server waits on anew: those of a bubble must come from inside.
func (f *fakeAPI) enter() {
	f.changed = make(chan struct{})
	for _, r := range f.resources {
		r.fault = make(chan struct{})
	}
}

func (f *fakeAPI) add(r *fakeResource) *fakeResource {
	if r.verbs == nil {
		r.verbs = []string{"get", "list", "watch"}
	}
	r.objects, r.fault = map[string]fakeObject{}, make(chan struct{})
	r.spell = func(rev uint64) string { return strconv.FormatUint(rev, 10) }
	f.mu.Lock()
	defer f.mu.Unlock()
	r.floor = f.rev
	f.resources = append(f.resources, r)
	return r
}

// addCustom adds a custom resource, its CRD included.
func (f *fakeAPI) addCustom(fields ...string) *fakeResource {
	r := f.add(&fakeResource{group: "ex.io", versionName: "v1", name: "widgets", kind: "Widget", namespaced: true, custom: true})
	f.declare(r, fields...)
	return r
}

// declare writes the CRD of a custom resource.
func (f *fakeAPI) declare(r *fakeResource, fields ...string) {
	paths := make([]string, len(fields))
	for i := range fields {
		paths[i] = fmt.Sprintf(`{"jsonPath":%q}`, fields[i])
	}
	f.resource("customresourcedefinitions").put("", r.name+"."+r.group, "", fmt.Sprintf(
		`,"spec":{"versions":[{"name":"v0"},{"name":%q,"selectableFields":[%s]}]}`, r.versionName, strings.Join(paths, ",")))
}

func (f *fakeAPI) remove(r *fakeResource) {
	f.mu.Lock()
	for i := range f.resources {
		if f.resources[i] == r {
			f.resources = append(f.resources[:i:i], f.resources[i+1:]...)
			break
		}
	}
	f.mu.Unlock()
	f.resource("customresourcedefinitions").drop("", r.name+"."+r.group)
	f.cut(r)
}

func (f *fakeAPI) resource(name string) *boundResource {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.resources {
		if r.name == name {
			return &boundResource{f, r}
		}
	}
	panic("no resource " + name)
}

// boundResource is a resource with its server, for tests to write to.
type boundResource struct {
	api *fakeAPI
	*fakeResource
}

// on runs change with the server's lock held and wakes the watches.
func (b *boundResource) on(change func()) {
	b.api.mu.Lock()
	defer b.api.mu.Unlock()
	change()
	b.api.wakeLocked()
}

func (f *fakeAPI) wakeLocked() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// put writes an object and returns its revision. meta is added to the metadata, rest behind it.
func (b *boundResource) put(namespace, name, meta, rest string) (rev uint64) {
	b.on(func() {
		b.api.rev++
		rev = b.api.rev
		kind := "MODIFIED"
		old, ok := b.objects[key(namespace, name)]
		if !ok {
			kind = "ADDED"
		}
		o := fakeObject{rev, b.encode(namespace, name, meta, rest, b.spell(rev))}
		if old.json != "" && meta == "" && rest == "same" {
			o = old
		}
		b.objects[key(namespace, name)] = o
		b.events = append(b.events, fakeEvent{rev, kind, b.whole(o.json)})
	})
	return rev
}

// drop deletes an object; with more names, all at one revision, as happens when an etcd lease expires.
func (b *boundResource) drop(namespace string, names ...string) (rev uint64) {
	b.on(func() {
		b.api.rev++
		rev = b.api.rev
		for _, name := range names {
			o := b.objects[key(namespace, name)]
			delete(b.objects, key(namespace, name))
			last := strings.Replace(o.json, quoted("resourceVersion", b.spell(o.rev)), quoted("resourceVersion", b.spell(rev)), 1)
			b.events = append(b.events, fakeEvent{rev, "DELETED", b.whole(last)})
		}
	})
	return rev
}

// compact makes the server forget all events, as a restart after a compaction does.
func (b *boundResource) compact() {
	b.on(func() { b.floor, b.events = b.api.rev, nil })
}

func (f *fakeAPI) cut(r *fakeResource) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(r.fault)
	r.fault = make(chan struct{})
}

// cutWatches ends the resource's watches in the middle of a line. Nothing that happens afterwards is sent on them.
func (b *boundResource) cutWatches() {
	b.api.cut(b.fakeResource)
	synctest.Wait()
}

func (r *fakeResource) encode(namespace, name, meta, rest, rv string) string {
	ns := ""
	if namespace != "" {
		ns = quoted("namespace", namespace) + ","
	}
	if meta != "" {
		meta = "," + meta
	} else {
		meta = fmt.Sprintf(`,"uid":"uid-of-%s"`, name)
	}
	return fmt.Sprintf(`{%s"metadata":{%s%s%s,%s}%s}`, r.typeHead(), ns, quoted("name", name), meta, quoted("resourceVersion", rv), rest)
}

// typeHead is what custom objects begin with; typed ones get it where they stand alone.
func (r *fakeResource) typeHead() string {
	if r.custom {
		return quoted("apiVersion", r.apiVersion()) + "," + quoted("kind", r.kind) + ","
	}
	return ""
}

// whole returns an object as GET and WATCH show it.
func (r *fakeResource) whole(item string) string {
	if r.custom {
		return item
	}
	return "{" + quoted("kind", r.kind) + "," + quoted("apiVersion", r.apiVersion()) + "," + item[1:]
}

func (r *fakeResource) apiVersion() string {
	if r.group == "" {
		return r.versionName
	}
	return r.group + "/" + r.versionName
}

func (r *fakeResource) path() string {
	if r.group == "" {
		return "/api/" + r.versionName
	}
	return "/apis/" + r.apiVersion()
}

func quoted(key, value string) string { return strconv.Quote(key) + ":" + strconv.Quote(value) }

func key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// get returns an object as the server shows it.
func (b *boundResource) get(key string) string {
	b.api.mu.Lock()
	defer b.api.mu.Unlock()
	return b.whole(b.objects[key].json)
}

// count returns how many requests contain all of parts since the server started.
func (f *fakeAPI) count(parts ...string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, r := range f.requests {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(r, p)
		}
		if all {
			n++
		}
	}
	return n
}

func (f *fakeAPI) openWatches() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watches
}

func (f *fakeAPI) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	f.wakeLocked()
}

// ServeHTTP answers as an API server would.
func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	f.mu.Lock()
	query, _ := url.QueryUnescape(req.URL.RawQuery)
	f.requests = append(f.requests, req.URL.Path+"?"+query)
	down, gate := f.down, f.gate
	f.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if down != 0 {
		fail(w, down, "ServiceUnavailable", "down for the test")
		return
	}
	for _, r := range f.list() {
		if rest, ok := strings.CutPrefix(req.URL.Path, r.path()+"/"+r.name); ok && (rest == "" || rest[0] == '/') {
			f.serveResource(w, req, r, "", strings.TrimPrefix(rest, "/"))
			return
		}
		rest, ok := strings.CutPrefix(req.URL.Path, r.path()+"/namespaces/")
		if parts := strings.Split(rest, "/"); ok && len(parts) > 1 && parts[1] == r.name {
			f.serveResource(w, req, r, parts[0], strings.Join(parts[2:], "/"))
			return
		}
	}
	f.serveDocument(w, req)
}

func (f *fakeAPI) list() []*fakeResource {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*fakeResource(nil), f.resources...)
}

func fail(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(failure(code, reason, message))
}

func failure(code int, reason, message string) []byte {
	cause := map[string]any{"reason": metav1.CauseTypeResourceVersionTooLarge} // taken for one with a Timeout only
	if reason != "Timeout" {
		cause["reason"] = "Test"
	}
	b, _ := json.Marshal(map[string]any{
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure",
		"message": message, "reason": reason, "code": code, "details": map[string]any{"causes": []any{cause}},
	})
	return b
}
