package litesrv

import (
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	asProtobuf   = "application/vnd.kubernetes.protobuf"
	allTypes     = "application/json, application/yaml, " + asProtobuf
	noRoute406   = "406: Not Acceptable\n\nAvailable representations: " + allTypes
	acceptedOnly = "only the following media types are accepted: " + allTypes
)

func TestAccept(t *testing.T) {
	w := newWorld(t, 100)
	w.load(configmaps, thing{ns: "t1", name: "c1"})
	w.load(widgets, thing{ns: "t1", name: "c1"})
	s := w.server()
	const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
	for _, c := range []struct {
		accept          string
		builtin, custom string // the message of a 406; "" when JSON is answered
	}{
		{"", "", ""},
		{"application/json", "", ""},
		{"*/*", "", ""},
		{"application/*", noRoute406, ""},
		{"*", noRoute406, ""},
		{"application/json;q=0", "", ""},
		{"text/html, */*;q=0.1", "", ""},
		{"application/json;stream=watch", "", ""},
		{"application/json;sv=v1", "", ""},
		{"application/json;foo=bar", "", ""},
		{"application/json;charset=utf-8", "", ""},
		{"application/json,", "", ""},
		{table + ",application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", "", ""},
		{"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v2,application/json", "", ""},
		{"application/yaml;stream=watch, application/json;q=0.1", "", ""},
		{table, acceptedOnly, acceptedOnly},
		{"application/json;v=v1", acceptedOnly, acceptedOnly},
		{"application/json;stream=foo", acceptedOnly, acceptedOnly},
		{"application/json;sv=v2", acceptedOnly, acceptedOnly},
		{asProtobuf + ";as=Table;v=v1;g=meta.k8s.io", acceptedOnly, acceptedOnly},
		{"application/yaml;stream=watch", acceptedOnly, acceptedOnly},
		{"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v2", acceptedOnly, acceptedOnly},
		{"application/json;as=PartialObjectMetadata;v=v1", acceptedOnly, acceptedOnly},
		{"application/json;as=PartialObjectMetadata", acceptedOnly, acceptedOnly},
		{"application/json;as=Foo;g=meta.k8s.io;v=v1", acceptedOnly, acceptedOnly},
		{"text/html", noRoute406, acceptedOnly},
		{"APPLICATION/JSON", noRoute406, acceptedOnly},
		{",", noRoute406, acceptedOnly},
		{";", noRoute406, acceptedOnly},
		{"application/cbor", noRoute406, acceptedOnly},
	} {
		for path, message := range map[string]string{
			"/api/v1/namespaces/t1/configmaps/c1":          c.builtin,
			"/apis/ex.io/v1/namespaces/t1/widgets/c1":      c.custom,
			"/apis/ex.io/v1/widgets?fieldSelector=badness": c.custom, // Accept is looked at before the query
		} {
			answer := get(t, s, path, "Accept", c.accept)
			status := statusText(t, answer)
			if message != "" && (answer.Code != 406 || status != message) || message == "" && answer.Code == 406 {
				t.Errorf("%s as %q: %d %q, want %q", path, c.accept, answer.Code, status, message)
			}
			if got := answer.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("%s as %q: Content-Type %s", path, c.accept, got)
			}
		}
	}
}

func TestShapesOfNotAcceptable(t *testing.T) {
	w := newWorld(t, 100)
	w.load(configmaps)
	w.load(widgets)
	s := w.server()
	want(t, get(t, s, "/api/v1/configmaps", "Accept", "application/foo"), 406, `{
  "kind": "Status",
  "apiVersion": "v1",
  "metadata": {},
  "status": "Failure",
  "message": "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
  "reason": "NotAcceptable",
  "details": {},
  "code": 406
}`)
	want(t, get(t, s, "/api/v1/configmaps", "Accept", "application/*"), 406,
		failure(406, "NotAcceptable", noRoute406+", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch", "{}"))
	want(t, get(t, s, "/apis/ex.io/v1/widgets", "Accept", "application/foo"), 406, `{
  "kind": "Status",
  "apiVersion": "v1",
  "metadata": {},
  "status": "Failure",
  "message": "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
  "reason": "NotAcceptable",
  "code": 406
}`)
}

func TestPretty(t *testing.T) {
	w := newWorld(t, 100)
	w.load(configmaps, thing{ns: "t1", name: "c1", rest: `,"data":{"a":"{\"b\":[1, 2]}","e":{}}`})
	s := w.server()
	const path = "/api/v1/namespaces/t1/configmaps/c1"
	pretty := `{
  "kind": "ConfigMap",
  "apiVersion": "v1",
  "metadata": {
    "name": "c1",
    "namespace": "t1",
    "uid": "u-t1-c1",
    "resourceVersion": "100"
  },
  "data": {
    "a": "{\"b\":[1, 2]}",
    "e": {}
  }
}`
	plain := get(t, s, path).Body.String()
	for _, c := range []struct{ query, agent, accept, body string }{
		{"?pretty=true", "x", "", pretty},
		{"?pretty=1", "x", "", pretty},
		{"", "curl/8.5", "", pretty},
		{"", "Wget/1", "", pretty},
		{"", "Mozilla/5.0 (X11)", "", pretty},
		{"", "x", "application/json;pretty=1", pretty},
		{"?pretty=false", "curl/8.5", "", plain},
		{"?pretty=abc", "curl/8.5", "", plain},
		{"?pretty=", "x", "", plain},
		{"", "x", "", plain},
	} {
		want(t, get(t, s, path+c.query, "User-Agent", c.agent, "Accept", c.accept), 200, c.body)
	}
	want(t, get(t, s, "/api/v1/configmaps?pretty=1&labelSelector=none"), 200, `{
  "kind": "ConfigMapList",
  "apiVersion": "v1",
  "metadata": {
    "resourceVersion": "100"
  },
  "items": []
}`)
	want(t, get(t, s, "/api/v1/namespaces/t1/configmaps/no?pretty=1"), 404, `{
  "kind": "Status",
  "apiVersion": "v1",
  "metadata": {},
  "status": "Failure",
  "message": "configmaps \"no\" not found",
  "reason": "NotFound",
  "details": {
    "name": "no",
    "kind": "configmaps"
  },
  "code": 404
}`)
}

func FuzzAccept(f *testing.F) {
	for _, a := range []string{"", "*/*", "application/json;q=0.5;as=Table", ";;;,,,", "a/b/c;d", "application/json;pretty=1",
		"application/yaml;pretty=1", "*/*;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"} {
		f.Add(a)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["Accept"] = []string{accept}
		p, err := negotiate(r, offer{object: true, protobuf: true, partial: true})
		if err == nil && p.pretty && p.encoding != encodeJSON {
			t.Errorf("%q: indented what is not JSON", accept)
		}
		if p.shape.kind != "" && (p.shape.kind != kindPartial && p.shape.kind != kindPartialList || !strings.Contains(accept, p.shape.kind)) {
			t.Errorf("%q: shape %v", accept, p.shape)
		}
		if e, ok := negotiateError(r); e.shape != (shape{}) {
			t.Errorf("%q: an error in the shape %v", accept, e.shape)
		} else if ok && err != nil && hasRoute(accept, routed) {
			// An error has fewer shapes than an object, so what does for it does for the object.
			t.Errorf("%q will do for an error only", accept)
		}
	})
}
