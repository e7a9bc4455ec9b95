package litesrv

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

const aggregatedAccept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// discovery is what a small cloud says about itself.
func discovery() []apidoc.Document {
	plain := func(path, body string) apidoc.Document {
		return apidoc.Document{Path: path, MediaType: "application/json", Body: apidoc.Pack([]byte(body))}
	}
	return []apidoc.Document{
		plain("/api", `{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[]}`+"\n"),
		plain("/apis", `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`+"\n"),
		{Path: "/apis", Accept: aggregatedAccept, MediaType: aggregatedAccept, ETag: `"ABC"`, Body: apidoc.Pack([]byte(
			`{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[` +
				`{"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[{"resource":"deployments","scope":"Namespaced",` +
				`"verbs":["create","get","list","watch"],"subresources":[{"subresource":"scale"},{"subresource":"status"}]}]}]},` +
				`{"metadata":{"name":"ex.io"},"versions":[{"version":"v1","resources":[{"resource":"widgets","scope":"Namespaced",` +
				`"verbs":["get","list","watch"]},{"resource":"gizmos","scope":"Cluster","verbs":["get","list","watch"]}]}]}]}` + "\n"))},
		plain("/api/v1", `{"kind":"APIResourceList","groupVersion":"v1","resources":[`+
			`{"name":"bindings","namespaced":true,"kind":"Binding","verbs":["create"]},`+
			`{"name":"configmaps","namespaced":true,"kind":"ConfigMap","verbs":["create","get","list","watch"]},`+
			`{"name":"nodes","namespaced":false,"kind":"Node","verbs":["get","list","watch"]},`+
			`{"name":"pods","namespaced":true,"kind":"Pod","verbs":["create","get","list","watch"]},`+
			`{"name":"pods/log","namespaced":true,"kind":"Pod","verbs":["get"]},`+
			`{"name":"secrets","namespaced":true,"kind":"Secret","verbs":["create","get","list","watch"]}]}`+"\n"),
		plain("/apis/apps/v1", `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1","resources":[]}`+"\n"),
		plain("/version", "{\n  \"major\": \"1\"\n}"),
		{Path: "/openapi/v3/apis/apps/v1", MediaType: "application/json", ETag: `"F00D"`, Body: apidoc.Pack([]byte(`{"openapi":"3.0.0"}`))},
	}
}

// described returns a world with discovery that holds configmaps, pods and widgets, but no secrets, deployments or gizmos.
func described(t *testing.T) *world {
	w := newWorld(t, 100)
	w.docs.Replace(discovery())
	w.load(configmaps, thing{ns: "t1", name: "c1"})
	w.load(pods)
	w.load(nodes)
	w.load(widgets, thing{ns: "t1", name: "w1"})
	return w
}

var (
	notServedBody  = failure(404, "NotFound", "the server could not find the requested resource", "{}")
	notAllowedBody = failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", "{}")
)

const notFoundPage = "404 page not found\n"

func TestTwoKindsOfNotFound(t *testing.T) {
	s := described(t).server()
	for _, path := range []string{
		"/api/v1/nope", "/api/v2", "/api/v2/x", "/apis/apps/v9/x", "/apis/apps/v9", "/apis/apps/v1/nope",
		"/apis/apps/v1/namespaces/t1/nope", "/api/v1/configmaps/c1", "/api/v1/namespaces/t1/nodes", "/api/v1/namespaces/t1/nodes/n1",
		"/api/v1/namespaces/t1/configmaps/c1/foo", "/api/v1/namespaces/t1/configmaps//c1", "/api/v1/bindings",
		"/api/v1/watch/namespaces/t1/nope", "/api/v1/watch/configmaps/c1", "/api/v1/proxy/namespaces/t1/pods/x",
	} {
		want(t, get(t, s, path), http.StatusNotFound, notServedBody)
	}
	for _, path := range []string{
		"/nope", "/apis/nope", "/apis/nope/v1", "/apis/nope/v1/x", "/apis/ex.io/v1/nope", "/apis/ex.io/v2/widgets", "/apis/ex.io/v2",
		"/apis/ex.io/v1/widgets/w1", "/apis/ex.io/v1/namespaces/t1/gizmos", "//api/v1/pods", "/healthz/", "/livez/nope",
	} {
		answer := get(t, s, path)
		want(t, answer, http.StatusNotFound, notFoundPage)
		if h := answer.Header(); h.Get("Content-Type") != "text/plain; charset=utf-8" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, h)
		}
	}
	want(t, get(t, s, "/apis/ex.io/v1/namespaces/t1/widgets/w1/scale"), 404,
		failure(404, "NotFound", `widgets.ex.io "w1" not found`, `{"name":"w1","group":"ex.io","kind":"widgets"}`))
	want(t, get(t, s, "/api/v1/watch"), 500, `Internal Server Error: "/api/v1/watch": failed to create RequestInfo: unable to `+
		"determine kind and namespace from url, /api/v1/watch\n")
}

// TestNoNamespaceIsInANamespace holds that a namespace in the path of one, or of another cluster-scoped resource, isn't
// overlooked, whether the resource is held here or not.
func TestNoNamespaceIsInANamespace(t *testing.T) {
	w := described(t)
	unheld := w.server()
	for _, path := range []string{
		"/api/v1/namespaces/t1/namespaces", "/api/v1/namespaces/t1/namespaces/t1", "/api/v1/namespaces/t1/namespaces/t1/status",
		"/api/v1/namespaces/t1/nodes", "/api/v1/namespaces/t1/nodes/n1", "/api/v1/watch/namespaces/t1/namespaces",
	} {
		want(t, get(t, unheld, path), http.StatusNotFound, notServedBody)
	}
	w.load(namespaces, thing{name: "t1"})
	s := w.server()
	if answer := get(t, s, "/api/v1/namespaces/t1"); answer.Code != http.StatusOK {
		t.Fatalf("the namespace itself: %d %s", answer.Code, answer.Body)
	}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		for _, path := range []string{
			"/api/v1/namespaces/t1/namespaces", "/api/v1/namespaces/t1/namespaces/t1", "/api/v1/namespaces/t1/namespaces/t1/status",
			"/api/v1/namespaces/t1/nodes", "/api/v1/namespaces/t1/nodes/n1", "/api/v1/watch/namespaces/t1/namespaces",
		} {
			want(t, call(t, s, method, path), http.StatusNotFound, notServedBody)
		}
	}
}

func TestMethodsThatAreNotAllowed(t *testing.T) {
	s := described(t).server()
	const (
		c, c1 = "/api/v1/namespaces/t1/configmaps", "/api/v1/namespaces/t1/configmaps/c1"
		w, w1 = "/apis/ex.io/v1/namespaces/t1/widgets", "/apis/ex.io/v1/namespaces/t1/widgets/w1"
	)
	for _, r := range []string{
		"HEAD " + c, "OPTIONS " + c, "PUT " + c, "PATCH " + c, "HEAD " + c1, "OPTIONS " + c1, "POST " + c1,
		"POST /api/v1/configmaps", "DELETE /api/v1/configmaps", "PUT /api/v1/watch/configmaps",
		"DELETE /api/v1/watch/namespaces/t1/configmaps/c1", "POST /api/v1/watch/namespaces/t1/configmaps", "POST /version",
		"GET /api/v1/namespaces/t1/bindings", "OPTIONS /apis/apps/v1/namespaces/t1/deployments", "HEAD /api/v1/nodes/n1",
	} {
		method, path, _ := strings.Cut(r, " ")
		want(t, call(t, s, method, path), http.StatusMethodNotAllowed, notAllowedBody)
	}
	for _, path := range []string{w, w1} {
		want(t, call(t, s, http.MethodOptions, path), 405, failure(405, "MethodNotAllowed",
			` is not supported on resources of kind "widgets.ex.io"`, `{"group":"ex.io","kind":"widgets"}`))
	}
	want(t, call(t, s, http.MethodPut, w), 400, failure(400, "BadRequest", "name must be provided", ""))
}

// TestWhatOnlyTheCloudCanDo is about writes, subresources and resources that are not held: never a fake success.
func TestWhatOnlyTheCloudCanDo(t *testing.T) {
	world := described(t)
	alone := world.server()
	passed := ""
	helped := world.server(func(c *Config) {
		c.Fallback = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			passed = r.Method + " " + r.URL.Path
			w.Header().Add("Audit-Id", "of the cloud")
			w.WriteHeader(http.StatusTeapot)
		})
	})
	for _, c := range []struct{ request, message, details string }{
		{"POST /api/v1/namespaces/t1/configmaps", "create of configmaps", `{"kind":"configmaps"}`},
		{"PUT /api/v1/namespaces/t1/configmaps/c1", "update of configmaps", `{"name":"c1","kind":"configmaps"}`},
		{"PATCH /api/v1/namespaces/t1/configmaps/c1", "patch of configmaps", `{"name":"c1","kind":"configmaps"}`},
		{"DELETE /api/v1/namespaces/t1/configmaps/c1", "delete of configmaps", `{"name":"c1","kind":"configmaps"}`},
		{"DELETE /api/v1/namespaces/t1/configmaps", "deletecollection of configmaps", `{"kind":"configmaps"}`},
		{"POST /apis/ex.io/v1/namespaces/t1/widgets", "create of widgets.ex.io", `{"group":"ex.io","kind":"widgets"}`},
		{"GET /api/v1/namespaces/t1/pods/p1/log", "pods/log", `{"name":"p1","kind":"pods"}`},
		{"GET /api/v1/secrets", "list of secrets", `{"kind":"secrets"}`},
		{"GET /api/v1/namespaces/t1/secrets/s", "get of secrets", `{"name":"s","kind":"secrets"}`},
		{"POST /api/v1/namespaces/t1/secrets", "create of secrets", `{"kind":"secrets"}`},
		{"GET /apis/apps/v1/namespaces/t1/deployments", "list of deployments.apps", `{"group":"apps","kind":"deployments"}`},
		{"GET /apis/apps/v1/namespaces/t1/deployments/d/scale", "deployments.apps/scale", `{"name":"d","group":"apps","kind":"deployments"}`},
		{"GET /apis/ex.io/v1/gizmos", "list of gizmos.ex.io", `{"group":"ex.io","kind":"gizmos"}`},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		want(t, call(t, alone, method, path), 503,
			failure(503, "ServiceUnavailable", c.message+" is not available at this edge", c.details))
		answer := call(t, helped, method, path)
		if answer.Code != http.StatusTeapot || passed != c.request {
			t.Errorf("%s: %d, passed on as %q", c.request, answer.Code, passed)
		}
		if id := answer.Header()["Audit-Id"]; len(id) != 1 || id[0] != "of the cloud" || answer.Header().Get("Cache-Control") != "" {
			t.Errorf("%s: headers of two servers: %v", c.request, answer.Header())
		}
	}
	if answer := get(t, helped, "/logs"); answer.Code != http.StatusTeapot {
		t.Errorf("/logs: %d", answer.Code)
	}
	want(t, get(t, helped, "/metrics"), http.StatusNotFound, notFoundPage)
}

func TestExactReadsBeyondTheWindowAreTheClouds(t *testing.T) {
	w := compacted(t, configmaps)
	refused := false
	s := w.server(func(c *Config) {
		c.Beyond = func(w http.ResponseWriter, _ *http.Request) bool {
			if !refused {
				w.WriteHeader(http.StatusTeapot)
			}
			return !refused
		}
	})
	for _, query := range []string{"resourceVersion=100&resourceVersionMatch=Exact", "continue=" + token(100, "/c1\x00")} {
		if answer := get(t, s, "/api/v1/namespaces/t1/configmaps?"+query); answer.Code != http.StatusTeapot {
			t.Errorf("live: %d", answer.Code)
		}
	}
	refused = true
	if answer := get(t, s, "/api/v1/configmaps?resourceVersion=100&resourceVersionMatch=Exact"); answer.Code != http.StatusGone {
		t.Errorf("what the cloud can't narrow: %d", answer.Code)
	}
	refused = false
	w.cut(time.Time{})
	if answer := get(t, s, "/api/v1/configmaps?resourceVersion=100&resourceVersionMatch=Exact"); answer.Code != http.StatusGone {
		t.Errorf("cut off: %d", answer.Code)
	}
}

func TestBeforeDiscoveryIsKnown(t *testing.T) {
	w := newWorld(t, 100)
	w.load(configmaps)
	s := w.server()
	body := failure(503, "ServiceUnavailable",
		"the request has been made before all known HTTP paths have been installed, please try again", `{"retryAfterSeconds":5}`)
	for _, path := range []string{"/api", "/apis", "/version", "/api/v1/secrets", "/apis/apps/v1/deployments", "/openapi/v2"} {
		answer := get(t, s, path)
		want(t, answer, 503, body)
		if h := answer.Header().Get("Retry-After"); h != "5" {
			t.Errorf("%s: Retry-After %q", path, h)
		}
	}
	if answer := get(t, s, "/api/v1/configmaps"); answer.Code != 200 {
		t.Errorf("a resource that is held: %d", answer.Code)
	}
	w.docs.Replace(discovery())
	if answer := get(t, s, "/api/v1/nope"); answer.Code != 404 {
		t.Errorf("after discovery: %d", answer.Code)
	}
}

func TestParseTarget(t *testing.T) {
	for path, expect := range map[string]target{
		"/api/v1/pods":                          {core: true, version: "v1", resource: "pods"},
		"/api/v1/pods/":                         {core: true, version: "v1", resource: "pods"},
		"/api/v1/namespaces":                    {core: true, version: "v1", resource: "namespaces"},
		"/api/v1/namespaces/t1":                 {core: true, version: "v1", resource: "namespaces", name: "t1"},
		"/api/v1/namespaces/t1/finalize":        {core: true, version: "v1", resource: "namespaces", name: "t1", subresource: "finalize"},
		"/api/v1/namespaces/t1/status":          {core: true, version: "v1", resource: "namespaces", name: "t1", subresource: "status"},
		"/api/v1/namespaces/t1/pods":            {core: true, version: "v1", resource: "pods", namespace: "t1"},
		"/api/v1/namespaces/t1/pods/p":          {core: true, version: "v1", resource: "pods", namespace: "t1", name: "p"},
		"/api/v1/namespaces/t1/pods/p/log":      {core: true, version: "v1", resource: "pods", namespace: "t1", name: "p", subresource: "log"},
		"/api/v1/namespaces/t1/pods/p/proxy/x":  {core: true, version: "v1", resource: "pods", namespace: "t1", name: "p", subresource: "proxy", deeper: true},
		"/api/v1/namespaces/t1/namespaces":      {core: true, version: "v1", resource: "namespaces", namespace: "t1"},
		"/api/v1/namespaces/t1/namespaces/t2":   {core: true, version: "v1", resource: "namespaces", namespace: "t1", name: "t2"},
		"/api/v1/namespaces//pods":              {core: true, version: "v1", resource: "pods", blank: true},
		"/apis/apps/v1/deployments":             {group: "apps", version: "v1", resource: "deployments"},
		"/apis/apps/v1/namespaces/t1/x/y":       {group: "apps", version: "v1", resource: "x", namespace: "t1", name: "y"},
		"/apis/apps/v1/watch/namespaces/t1/x/y": {group: "apps", version: "v1", resource: "x", namespace: "t1", name: "y", watch: true},
		"/api/v1/watch/pods":                    {core: true, version: "v1", resource: "pods", watch: true},
		"/api/v1/watch":                         {core: true, version: "v1", watch: true, bare: true},
	} {
		if got, ok := parseTarget(path); !ok || got != expect {
			t.Errorf("%s: got %+v, %v", path, got, ok)
		}
	}
	for _, path := range []string{"", "/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/version", "/healthz/x/y", "/foo/a/b/c"} {
		if got, ok := parseTarget(path); ok {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, p := range []string{"/api/v1/pods", "/apis/a/b/watch/namespaces/c/d/e/f", "//", "/api//"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got, ok := parseTarget(path)
		if ok && !got.bare && got.resource == "" && !strings.Contains(path, "//") {
			t.Errorf("%q names no resource: %+v", path, got)
		}
		if got.subresource != "" && got.name == "" && !strings.Contains(path, "//") {
			t.Errorf("%q has a subresource of nothing: %+v", path, got)
		}
	})
}
