package kube

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// acceptAggregated asks for all groups' resources in one document. Servers before Kubernetes 1.30 answer 406.
const (
	acceptAggregated      = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	acceptAggregatedProto = "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)

// parallelFetches bounds how many documents are fetched at a time.
const parallelFetches = 4

// documents keeps the API documents current. An unreachable server takes nothing away: what was fetched last stays.
type documents struct {
	api *api
	set *apidoc.Set
	// catalogue is what the set's discovery documents say; never nil after the first refresh that worked.
	catalogue atomic.Pointer[catalogue]

	turn chan struct{} // holds a token; who has it may refresh discovery and use what is below
	last time.Time     // when the last refresh that worked began; zero before

	mu    sync.Mutex // guards what is below; each part is changed by one goroutine at a time and never in place
	parts [apidoc.Parts]map[docKey]apidoc.Document
}

type docKey struct{ path, accept string }

func newDocuments(a *api) *documents {
	d := &documents{api: a, set: apidoc.NewSet(), turn: make(chan struct{}, 1)}
	d.turn <- struct{}{}
	return d
}

// refresh fetches the documents unless somebody else did since then, and tells whether they changed. With full unset it
// takes an unchanged aggregated discovery as proof that the legacy one is unchanged too; that misses nothing but
// storageVersionHash.
func (d *documents) refresh(ctx context.Context, since time.Time, full bool) (bool, error) {
	select {
	case <-d.turn:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { d.turn <- struct{}{} }()
	if d.last.After(since) {
		return false, nil
	}
	began := time.Now()
	if err := d.ready(ctx); err != nil {
		return false, err
	}
	have, err := (&fetch{api: d.api, old: d.part(apidoc.Discovery), got: map[docKey]apidoc.Document{}}).run(ctx, full)
	if err != nil {
		return false, err
	}
	c, err := newCatalogue(func(path, accept string) (apidoc.Document, bool) {
		doc, ok := have[docKey{path, accept}]
		return doc, ok
	})
	if err != nil {
		return false, err
	}
	d.last = began
	d.catalogue.Store(c)
	return d.publish(apidoc.Discovery, have), nil
}

// refreshOpenAPI fetches the OpenAPI documents that have changed, version 2 only if legacy is set. It is called by one
// goroutine.
func (d *documents) refreshOpenAPI(ctx context.Context, legacy bool) error {
	got, err := readOpenAPI(ctx, d.api, d.part(apidoc.OpenAPIV3), (*openAPI).v3)
	if err != nil {
		return err
	}
	d.publish(apidoc.OpenAPIV3, got)
	if !legacy {
		return nil
	}
	if got, err = readOpenAPI(ctx, d.api, d.part(apidoc.OpenAPIV2), (*openAPI).v2); err != nil {
		return err
	}
	d.publish(apidoc.OpenAPIV2, got)
	return nil
}

func (d *documents) part(p apidoc.Part) map[docKey]apidoc.Document {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.parts[p]
}

// publish makes docs a part of the set, and tells whether that changed it.
func (d *documents) publish(p apidoc.Part, docs map[docKey]apidoc.Document) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.parts[p] = docs
	var all []apidoc.Document
	for _, part := range d.parts {
		all = slices.AppendSeq(all, maps.Values(part))
	}
	return d.set.Replace(all)
}

// ready tells whether the server's discovery can be believed. One that is starting serves it before it knows its CRDs.
func (d *documents) ready(ctx context.Context) error {
	a, err := d.api.get(ctx, "/readyz", "*/*", "")
	if err != nil {
		return err
	}
	if a.status >= http.StatusInternalServerError {
		return fmt.Errorf("the API server is not ready: %w", a.failure("/readyz"))
	}
	return nil // refused to us or unknown to the server counts as ready
}

// fetch is one refresh.
type fetch struct {
	api *api
	old map[docKey]apidoc.Document // what the last one got; not changed

	mu  sync.Mutex
	got map[docKey]apidoc.Document // guarded by mu
}

func (f *fetch) run(ctx context.Context, full bool) (map[docKey]apidoc.Document, error) {
	roots := []docKey{{"/api", acceptAggregated}, {"/apis", acceptAggregated}, {"/version", ""},
		{"/api", acceptAggregatedProto}, {"/apis", acceptAggregatedProto}, {apidoc.Issuer, ""}, {apidoc.Keys, ""}}
	if err := f.all(ctx, roots); err != nil {
		return nil, err
	}
	if !full && f.same(roots[0]) && f.same(roots[1]) {
		f.keepRest()
		return f.got, nil
	}
	if err := f.all(ctx, []docKey{{"/api", ""}, {"/apis", ""}}); err != nil {
		return nil, err
	}
	known, err := f.unchanged(full)
	if err != nil {
		return nil, err
	}
	paths, err := f.paths(known)
	if err != nil {
		return nil, err
	}
	return f.got, f.all(ctx, paths)
}

// unchanged returns the groups of which the aggregated discovery says what it said before; none with full set.
func (f *fetch) unchanged(full bool) (map[string]bool, error) {
	known := map[string]bool{}
	for _, path := range []string{"/api", "/apis"} {
		old, had := f.old[docKey{path, acceptAggregated}]
		now, has := f.got[docKey{path, acceptAggregated}]
		if full || !had || !has {
			continue
		}
		was, err := aggregatedGroups(old)
		if err != nil {
			return nil, err
		}
		is, err := aggregatedGroups(now)
		if err != nil {
			return nil, err
		}
		for group, text := range is {
			known[group] = bytes.Equal(text, was[group])
		}
	}
	return known, nil
}

// same tells whether a document was fetched before and has not changed.
func (f *fetch) same(key docKey) bool {
	was, ok := f.old[key]
	now, still := f.got[key]
	return ok && still && was.ETag != "" && was.ETag == now.ETag
}

func (f *fetch) keepRest() {
	for key, doc := range f.old {
		if _, ok := f.got[key]; !ok {
			f.got[key] = doc
		}
	}
}

// paths returns the documents that the legacy indexes name: one per group and one per group version. Those of known groups
// are kept instead.
func (f *fetch) paths(known map[string]bool) ([]docKey, error) {
	var keys []docKey
	add := func(group, path string) {
		key := docKey{path, ""}
		if old, ok := f.old[key]; ok && known[group] {
			f.got[key] = old
			return
		}
		keys = append(keys, key)
	}
	groups := map[string]bool{"": true}
	for _, root := range []string{"/api", "/apis"} {
		index, ok := f.got[docKey{root, ""}]
		if !ok {
			continue
		}
		versions, err := groupVersions(index)
		if err != nil {
			return nil, err
		}
		for _, gv := range versions {
			if !groups[gv.Group] {
				groups[gv.Group] = true
				add(gv.Group, "/apis/"+gv.Group)
			}
			add(gv.Group, versionPath(gv))
		}
	}
	return keys, nil
}

func (f *fetch) all(ctx context.Context, keys []docKey) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelFetches)
	for _, key := range keys {
		g.Go(func() error { return f.one(ctx, key) })
	}
	return g.Wait()
}

// one fetches one document. One that the server does not have is left out; one that it can't give right now stays what
// it was. What tokens are verified with is left out, too, where the hub may not read it.
func (f *fetch) one(ctx context.Context, key docKey) error {
	accept := key.accept
	switch {
	case key.path == apidoc.Issuer || key.path == apidoc.Keys:
		accept = "*/*" // there is one form of them, which is no plain JSON
	case accept == "":
		accept = mediaJSON
	}
	old, known := f.old[key]
	a, err := f.api.get(ctx, key.path, accept, old.ETag)
	if err != nil {
		return err
	}
	switch {
	case a.status == http.StatusOK && offered(key.accept, a.mediaType):
		old, known = apidoc.Document{
			Path: key.path, Accept: key.accept, MediaType: a.mediaType, ETag: a.etag, Body: old.Body.Repack(a.body),
		}, true
	case a.status == http.StatusOK, a.status == http.StatusNotFound, a.status == http.StatusNotAcceptable:
		return nil
	case a.status != http.StatusNotModified && !known && isRoot(key.path):
		return fmt.Errorf("discovery: %w", a.failure(key.path))
	}
	if known {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.got[key] = old
	}
	return nil
}

// isRoot tells whether nothing is known about the API without the document.
func isRoot(path string) bool { return path == "/api" || path == "/apis" }

// offered tells whether a media type is what was asked for. A server that does not know the aggregated form may answer
// with the plain one.
func offered(accept, mediaType string) bool {
	form, _, _ := strings.Cut(accept, ";")
	return accept == "" || strings.HasPrefix(mediaType, form+";") && strings.Contains(mediaType, "as=APIGroupDiscoveryList")
}

// resource returns the preferred version of a resource. One that is not known is looked for once more, as it may be new.
func (d *documents) resource(ctx context.Context, gr schema.GroupResource) (served, bool, error) {
	if s, ok := d.catalogue.Load().lookup(gr); ok {
		return s, true, nil
	}
	// Documents younger than a second are good enough: whoever asks for what does not exist must not be able to have
	// them fetched all the time.
	if _, err := d.refresh(ctx, time.Now().Add(-time.Second), false); err != nil {
		return served{}, false, err
	}
	s, ok := d.catalogue.Load().lookup(gr)
	return s, ok, nil
}
