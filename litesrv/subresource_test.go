package litesrv

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// withStatus is a world whose pods, widgets and namespaces have a status that can be read, and whose gizmos have none.
func withStatus(t *testing.T) *world {
	w := described(t)
	doc := func(path, body string) apidoc.Document {
		return apidoc.Document{Path: path, MediaType: "application/json", Body: apidoc.Pack([]byte(body))}
	}
	w.docs.Replace([]apidoc.Document{
		doc("/api/v1", `{"kind":"APIResourceList","groupVersion":"v1","resources":[`+
			`{"name":"pods","namespaced":true,"kind":"Pod","verbs":["get","list","watch"]},`+
			`{"name":"pods/status","namespaced":true,"kind":"Pod","verbs":["get","patch","update"]},`+
			`{"name":"pods/eviction","namespaced":true,"kind":"Eviction","verbs":["create"]},`+
			`{"name":"configmaps","namespaced":true,"kind":"ConfigMap","verbs":["get","list","watch"]},`+
			`{"name":"namespaces","namespaced":false,"kind":"Namespace","verbs":["get","list","watch"]},`+
			`{"name":"namespaces/status","namespaced":false,"kind":"Namespace","verbs":["get","patch","update"]},`+
			`{"name":"nodes","namespaced":false,"kind":"Node","verbs":["get","list","watch"]}]}`),
		{Path: "/apis", Accept: aggregatedAccept, MediaType: aggregatedAccept, Body: apidoc.Pack([]byte(
			`{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[{"metadata":{"name":"ex.io"},` +
				`"versions":[{"version":"v1","resources":[{"resource":"widgets","scope":"Namespaced","verbs":["get","list","watch"],` +
				`"subresources":[{"subresource":"status","verbs":["get","patch","update"]}]},` +
				`{"resource":"gizmos","scope":"Cluster","verbs":["get","list","watch"]}]}]}]}`))},
	})
	w.load(pods, thing{ns: "t1", name: "p1"})
	w.load(namespaces, thing{name: "t1"})
	w.load(gizmos, thing{name: "g1"})
	return w
}

func TestTheStatusOfAnObjectIsTheObject(t *testing.T) {
	s := withStatus(t).server()
	pod := thing{ns: "t1", name: "p1"}.json(pods, 100) + "\n"
	widget := thing{ns: "t1", name: "w1"}.json(widgets, 100) + "\n"
	const p1, w1 = "/api/v1/namespaces/t1/pods/p1/status", "/apis/ex.io/v1/namespaces/t1/widgets/w1/status"
	for path, body := range map[string]string{
		p1: pod, p1 + "/": pod, p1 + "?watch=1&resourceVersion=0": pod, w1: widget, w1 + "/more": widget,
		"/api/v1/namespaces/t1/status": thing{name: "t1"}.json(namespaces, 100) + "\n",
	} {
		want(t, get(t, s, path), http.StatusOK, body)
	}
	want(t, call(t, s, http.MethodHead, w1), http.StatusOK, widget)
	if answer := get(t, s, p1, "Accept", "application/yaml"); !strings.HasPrefix(answer.Body.String(), "apiVersion: v1\n") {
		t.Errorf("YAML: %s", answer.Body)
	}
	notSupported := func(verb string) string {
		return failure(405, "MethodNotAllowed", verb+` is not supported on resources of kind "widgets.ex.io"`, `{"group":"ex.io","kind":"widgets"}`)
	}
	for _, c := range []struct {
		request string
		code    int
		body    string
	}{
		{"GET /api/v1/namespaces/t1/pods/nope/status", 404, failure(404, "NotFound", `pods "nope" not found`, `{"name":"nope","kind":"pods"}`)},
		{"GET /apis/ex.io/v1/namespaces/t1/widgets/nope/status", 404,
			failure(404, "NotFound", `widgets.ex.io "nope" not found`, `{"name":"nope","group":"ex.io","kind":"widgets"}`)},
		{"GET " + p1 + "?resourceVersion=abc", 500, failure(500, "", `resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`, "")},
		{"GET " + p1 + "/more", 404, notServedBody},
		{"GET /api/v1/watch/namespaces/t1/pods/p1/status", 404, notServedBody},
		{"GET /api/v1/namespaces/t1/configmaps/c1/status", 404, notServedBody},
		{"GET /apis/ex.io/v1/gizmos/g1/status", 404, failure(404, "NotFound", `gizmos.ex.io "g1" not found`, `{"name":"g1","group":"ex.io","kind":"gizmos"}`)},
		{"GET /apis/ex.io/v1/watch/namespaces/t1/widgets/w1/status", 405, notSupported("watch")},
		{"HEAD " + p1, 405, notAllowedBody}, {"OPTIONS " + p1, 405, notAllowedBody}, {"POST " + p1, 405, notAllowedBody}, {"DELETE " + p1, 405, notAllowedBody},
		{"OPTIONS " + w1, 405, notSupported("")}, {"POST " + w1, 405, notSupported("create")}, {"DELETE " + w1, 405, notSupported("delete")},
		{"PUT " + p1, 503, failure(503, "ServiceUnavailable", "pods/status is not available at this edge", `{"name":"p1","kind":"pods"}`)},
		{"GET /api/v1/namespaces/t1/pods/p1/eviction", 503, failure(503, "ServiceUnavailable", "pods/eviction is not available at this edge", `{"name":"p1","kind":"pods"}`)},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		want(t, call(t, s, method, path), c.code, c.body)
	}
}

func TestANamespaceWithoutAName(t *testing.T) {
	s := withStatus(t).server()
	pod := thing{ns: "t1", name: "p1"}.item(pods, 100)
	required := failure(400, "BadRequest", "Namespace parameter required.", "")
	for _, c := range []struct {
		request string
		code    int
		body    string
	}{
		{"GET /api/v1/namespaces//pods", 200, list(pods, 100, "", pod)},
		{"GET /api/v1/namespaces//pods/p1", 400, required},
		{"HEAD /api/v1/namespaces//pods/p1", 405, notAllowedBody},
		{"GET /api/v1/namespaces//nodes", 404, notServedBody},
		{"DELETE /api/v1/namespaces//nodes", 404, notServedBody},
		{"GET /api/v1/watch/namespaces//nodes", 404, notServedBody},
		{"GET /api/v1/namespaces//namespaces", 404, notServedBody},
		{"GET /api/v1/namespaces//status", 400, failure(400, "BadRequest", "name must be provided", "")},
		{"GET /api/v1//pods", 404, notServedBody},
		{"GET /api/v1/namespaces/t1//pods", 404, notServedBody},
		{"GET /apis/ex.io/v1/namespaces//widgets", 200, list(widgets, 100, "", thing{ns: "t1", name: "w1"}.item(widgets, 100))},
		{"GET /apis/ex.io/v1/namespaces//widgets/w1", 404, notFoundPage},
		{"GET /apis/ex.io/v1/namespaces//gizmos", 200, list(gizmos, 100, "", thing{name: "g1"}.item(gizmos, 100))},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		want(t, call(t, s, method, path), c.code, c.body)
	}
}
