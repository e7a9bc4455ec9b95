package kube

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

func (f *fakeAPI) serveDocument(w http.ResponseWriter, req *http.Request) {
	aggregated := strings.Contains(req.Header.Get("Accept"), "as=APIGroupDiscoveryList")
	f.mu.Lock()
	defer f.mu.Unlock()
	switch path := req.URL.Path; {
	case path == "/readyz":
		_, _ = w.Write([]byte("ok"))
	case strings.HasPrefix(path, "/openapi/"):
		f.serveOpenAPILocked(w, req)
	case path == apidoc.Issuer || path == apidoc.Keys:
		if f.keys == "" {
			fail(w, http.StatusForbidden, "Forbidden", "not for you")
			return
		}
		w.Header().Set("Content-Type", "application/jwk-set+json")
		_, _ = io.WriteString(w, f.keys)
	case path == "/version":
		reply(w, f.version)
	case (path == "/api" || path == "/apis") && aggregated && f.legacy:
		fail(w, http.StatusNotAcceptable, "NotAcceptable", "only application/json")
	case (path == "/api" || path == "/apis") && aggregated:
		f.aggregatedLocked(w, req)
	case path == "/api":
		reply(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case path == "/apis":
		reply(w, fmt.Sprintf(`{"kind":"APIGroupList","apiVersion":"v1","groups":[%s]}`, strings.Join(f.groupsLocked(), ",")))
	default:
		f.serveGroupLocked(w, path)
	}
}

func (f *fakeAPI) serveGroupLocked(w http.ResponseWriter, path string) {
	var resources []string
	for _, r := range f.resources {
		if r.group != "" && path == "/apis/"+r.group {
			reply(w, f.groupLocked(r.group))
			return
		}
		if r.path() == path {
			if r.status == http.StatusServiceUnavailable { // an aggregated API that is down
				fail(w, r.status, "ServiceUnavailable", "down for the test")
				return
			}
			resources = append(resources, fmt.Sprintf(`{"name":%q,"namespaced":%t,"kind":%q,"verbs":["%s"]}`,
				r.name, r.namespaced, r.kind, strings.Join(r.verbs, `","`)),
				fmt.Sprintf(`{"name":"%s/status","namespaced":%t,"kind":%q,"verbs":["get"]}`, r.name, r.namespaced, r.kind))
		}
	}
	if resources == nil {
		http.NotFound(w, nil)
		return
	}
	reply(w, fmt.Sprintf(`{"kind":"APIResourceList","groupVersion":"x","resources":[%s]}`, strings.Join(resources, ",")))
}

func (f *fakeAPI) groupLocked(group string) string {
	var versions []string
	for _, v := range f.versionsLocked(group) {
		versions = append(versions, fmt.Sprintf(`{"version":%q}`, v))
	}
	return fmt.Sprintf(`{"name":%q,"versions":[%s],"preferredVersion":%s}`, group, strings.Join(versions, ","), versions[0])
}

func (f *fakeAPI) groupsLocked() (all []string) {
	for _, g := range f.groupNamesLocked() {
		if g != "" {
			all = append(all, f.groupLocked(g))
		}
	}
	return all
}

func (f *fakeAPI) groupNamesLocked() (all []string) {
	for _, r := range f.resources {
		if !slices.Contains(all, r.group) {
			all = append(all, r.group)
		}
	}
	return all
}

func (f *fakeAPI) versionsLocked(group string) (all []string) {
	for _, r := range f.resources {
		if r.group == group && !slices.Contains(all, r.versionName) {
			all = append(all, r.versionName)
		}
	}
	return all
}

func (f *fakeAPI) aggregatedLocked(w http.ResponseWriter, req *http.Request) {
	var items []string
	for _, g := range f.groupNamesLocked() {
		if (g == "") != (req.URL.Path == "/api") {
			continue
		}
		var versions []string
		for _, v := range f.versionsLocked(g) {
			versions = append(versions, f.aggregatedVersionLocked(g, v))
		}
		items = append(items, fmt.Sprintf(`{"metadata":{"name":%q},"versions":[%s]}`, g, strings.Join(versions, ",")))
	}
	body := fmt.Sprintf(`{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[%s]}`,
		strings.Join(items, ","))
	etag := fmt.Sprintf(`"%X"`, sha256.Sum256([]byte(body)))
	if f.etags {
		w.Header().Set("ETag", etag)
		if req.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.Header().Set("Content-Type", acceptAggregated)
	_, _ = w.Write([]byte(body))
}

func (f *fakeAPI) aggregatedVersionLocked(group, version string) string {
	var resources []string
	freshness := "Current"
	for _, r := range f.resources {
		if r.group != group || r.versionName != version {
			continue
		}
		if r.status == http.StatusServiceUnavailable {
			freshness = "Stale"
			continue
		}
		scope := "Cluster"
		if r.namespaced {
			scope = "Namespaced"
		}
		resources = append(resources, fmt.Sprintf(
			`{"resource":%q,"responseKind":{"group":"","version":"","kind":%q},"scope":%q,"verbs":["%s"]}`,
			r.name, r.kind, scope, strings.Join(r.verbs, `","`)))
	}
	return fmt.Sprintf(`{"version":%q,"resources":[%s],"freshness":%q}`, version, strings.Join(resources, ","), freshness)
}
