package litesrv

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

func TestDiscoveryByAccept(t *testing.T) {
	s := described(t).server()
	const (
		legacy = "application/json"
		beta   = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
	)
	for _, c := range []struct{ path, accept, mediaType string }{
		{"/apis", "", legacy},
		{"/apis/", "", legacy},
		{"/apis/", aggregatedAccept + ",application/json", legacy},
		{"/apis/", aggregatedAccept, ""},
		{"/apis?timeout=32s", "", legacy},
		{"/apis", "*/*", legacy},
		{"/apis", "application/*", legacy},
		{"/apis", "application/json", legacy},
		{"/apis", aggregatedAccept, aggregatedAccept},
		{"/apis", aggregatedAccept + ",application/json", aggregatedAccept},
		{"/apis", aggregatedAccept + ";profile=nopeer", aggregatedAccept},
		{"/apis", "application/json;q=0.1," + aggregatedAccept, aggregatedAccept},
		{"/apis", beta + "," + legacy, legacy},
		{"/api", aggregatedAccept + ",application/json", legacy}, // the cloud has no aggregated one for it here
		{"/version", aggregatedAccept, legacy},
		{"/apis", "*/*" + strings.TrimPrefix(aggregatedAccept, "application/json"), aggregatedAccept},
		{"/apis", "text/html," + aggregatedAccept + ";stream=watch", aggregatedAccept},
		{"/apis", aggregatedAccept + ";sv=v1", ""},
		{"/apis", "application/json;g=apidiscovery.k8s.io;v=v2", ""},
		{"/apis", "application/json;as=APIGroupDiscoveryList", ""},
		{"/apis", beta, ""},
		{"/apis", "text/html", ""},
		{"/apis", "application/json;sv=v2", ""},
		{"/api/v1", aggregatedAccept, ""},
		{"/version", "application/*", ""},
	} {
		answer := get(t, s, c.path, "Accept", c.accept)
		if c.mediaType == "" {
			if answer.Code != http.StatusNotAcceptable {
				t.Errorf("%s as %s: %d", c.path, c.accept, answer.Code)
			}
			continue
		}
		if got := answer.Header().Get("Content-Type"); answer.Code != 200 || got != c.mediaType {
			t.Errorf("%s as %s: %d %s", c.path, c.accept, answer.Code, got)
		}
	}
}

func TestHeadersOfDocuments(t *testing.T) {
	s := described(t).server()
	answer := get(t, s, "/apis", "Accept", aggregatedAccept)
	h := answer.Header()
	if h.Get("ETag") != `"ABC"` || h.Get("Vary") != "Accept" || h.Get("Cache-Control") != "public" || h.Get("Audit-Id") == "" {
		t.Errorf("aggregated: %v", h)
	}
	answer = get(t, s, "/apis", "Accept", aggregatedAccept, "If-None-Match", `"ABC"`)
	if answer.Code != http.StatusNotModified || answer.Body.Len() != 0 || answer.Header().Get("ETag") != `"ABC"` {
		t.Errorf("known: %d %s %v", answer.Code, answer.Body, answer.Header())
	}
	if answer = get(t, s, "/apis", "Accept", aggregatedAccept, "If-None-Match", `"old"`); answer.Code != 200 {
		t.Errorf("changed: %d", answer.Code)
	}
	h = get(t, s, "/apis").Header()
	if h.Get("ETag") != "" || h.Get("Vary") != "" || h.Get("Cache-Control") != "no-cache, private" {
		t.Errorf("legacy: %v", h)
	}
}

func TestDocumentsAreVerbatimUnlessPretty(t *testing.T) {
	s := described(t).server()
	for _, d := range discovery() {
		text, err := d.Body.Text()
		if err != nil {
			t.Fatal(err)
		}
		want(t, get(t, s, d.Path, "Accept", d.Accept), 200, string(text))
	}
	answer := get(t, s, "/apis?pretty=true")
	if !strings.HasPrefix(answer.Body.String(), "{\n  \"kind\": \"APIGroupList\"") || !json.Valid(answer.Body.Bytes()) {
		t.Errorf("pretty: %s", answer.Body)
	}
}

// TestOpenAPIThatIsNotAtTheEdge is about OpenAPI documents of which none was brought here: they are the cloud's, not
// nobody's. Where some are, what isn't among them doesn't exist.
func TestOpenAPIThatIsNotAtTheEdge(t *testing.T) {
	w := described(t)
	some := discovery()
	w.docs.Replace(slices.DeleteFunc(discovery(), func(d apidoc.Document) bool { return strings.HasPrefix(d.Path, "/openapi/") }))
	alone := w.server()
	helped := w.server(func(c *Config) {
		c.Fallback = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	})
	paths := []string{"/openapi/v2", "/openapi/v3", "/openapi/v3/", "/openapi/v3/api/v1", "/openapi/v3/apis/apps/v1?hash=F00D"}
	for _, path := range paths {
		answer := get(t, alone, path)
		want(t, answer, http.StatusServiceUnavailable,
			failure(503, "ServiceUnavailable", "OpenAPI documents are not available at this edge", ""))
		if answer.Header().Get("Retry-After") != "" {
			t.Errorf("%s: clients would try again for seconds", path)
		}
		if answer := get(t, helped, path); answer.Code != http.StatusTeapot {
			t.Errorf("%s: %d instead of the fallback's", path, answer.Code)
		}
	}
	want(t, get(t, alone, "/openapi"), http.StatusNotFound, notFoundPage)
	w.docs.Replace(some)
	want(t, get(t, alone, "/openapi/v2"), http.StatusNotFound, notFoundPage)
	want(t, get(t, alone, "/openapi/v3/api/v1"), http.StatusNotFound, "")
}

// TestDiscoveryInOtherEncodings holds what other forms of the documents are made of.
func TestDiscoveryInOtherEncodings(t *testing.T) {
	s := described(t).server()
	const params = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	for _, c := range []struct{ path, accept, mediaType, body string }{
		{"/api", "application/yaml", "application/yaml", "kind: APIVersions\nserverAddressByClientCIDRs: []\nversions:\n- v1\n"},
		{"/apis/", "application/json;q=0.1,application/yaml", "application/yaml", "apiVersion: v1\ngroups: []\nkind: APIGroupList\n"},
		{"/apis", "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf",
			"k8s\x00\n\x12\n\x02v1\x12\fAPIGroupList\x12\x00\x1a\x00\"\x00"},
		{"/api", "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf",
			"k8s\x00\n\x0f\n\x00\x12\vAPIVersions\x12\x04\n\x02v1\x1a\x00\"\x00"},
	} {
		answer := get(t, s, c.path, "Accept", c.accept)
		want(t, answer, http.StatusOK, c.body)
		if got := answer.Header().Get("Content-Type"); got != c.mediaType {
			t.Errorf("%s as %s: %s", c.path, c.accept, got)
		}
	}
	for _, mediaType := range []string{"application/yaml", "application/vnd.kubernetes.protobuf"} {
		answer := get(t, s, "/apis", "Accept", mediaType+params)
		h := answer.Header()
		if answer.Code != 200 || h.Get("Content-Type") != mediaType+params || h.Get("ETag") != `"ABC"` || h.Get("Vary") != "Accept" ||
			h.Get("Cache-Control") != "public" || !strings.Contains(answer.Body.String(), "widgets") {
			t.Errorf("%s: %d %v", mediaType, answer.Code, h)
		}
		if answer := get(t, s, "/apis", "Accept", mediaType+params, "If-None-Match", `"ABC"`); answer.Code != 304 || answer.Body.Len() > 0 {
			t.Errorf("%s: %d", mediaType, answer.Code)
		}
	}
	if answer := get(t, s, "/version", "Accept", "application/yaml"); answer.Code != http.StatusNotAcceptable ||
		!strings.Contains(answer.Body.String(), "Available representations: application/json\n") {
		t.Errorf("the version: %d %s", answer.Code, answer.Body)
	}
}

// TestMethodsOfDocuments is about who answers: go-restful knows GET, the others don't look.
func TestMethodsOfDocuments(t *testing.T) {
	w := described(t)
	docs := append(discovery(), apidoc.Document{Path: "/apis/apps", MediaType: "application/json", Body: apidoc.Pack([]byte("{}"))},
		apidoc.Document{Path: "/apis/ex.io/v1", MediaType: "application/json", Body: apidoc.Pack([]byte("{}"))})
	w.docs.Replace(docs)
	s := w.server()
	for _, method := range []string{"HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"} {
		for _, path := range []string{"/api", "/api/v1", "/apis/apps/v1", "/version"} {
			want(t, call(t, s, method, path), http.StatusMethodNotAllowed, notAllowedBody)
		}
		for _, path := range []string{"/", "/apis", "/apis/apps", "/apis/ex.io/v1", "/openapi/v3/apis/apps/v1", "/livez"} {
			if answer := call(t, s, method, path); answer.Code != http.StatusOK {
				t.Errorf("%s %s: %d", method, path, answer.Code)
			}
		}
	}
	for path, text := range map[string]string{
		"/api/v1": noRoute406, "/apis/apps/v1": noRoute406, "/apis/apps": acceptedOnly, "/apis/ex.io/v1": acceptedOnly, "/apis": acceptedOnly,
	} {
		if answer := get(t, s, path, "Accept", "application/foo"); !strings.Contains(answer.Body.String(), strings.ReplaceAll(text, "\n", `\n`)) {
			t.Errorf("%s: %s", path, answer.Body)
		}
	}
}

func TestTheRootNamesThePathsThatAreServed(t *testing.T) {
	w := described(t)
	w.docs.Replace(append(discovery(), apidoc.Document{Path: "/openapi/v3", MediaType: "text/plain", Body: apidoc.Pack([]byte("{}"))}))
	s := w.server()
	for _, path := range []string{"/", "/index.html"} {
		answer := get(t, s, path, "Accept", "text/html")
		var got struct{ Paths []string }
		if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || answer.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%v: %s", err, answer.Body)
		}
		expect := []string{
			"/api", "/api/v1", "/apis", "/apis/", "/apis/apps/v1", "/healthz", "/healthz/ping", "/livez", "/livez/ping", "/openapi/v3",
			"/openapi/v3/", "/readyz", "/readyz/ping", "/readyz/sync", "/version",
		}
		if !slices.Equal(got.Paths, expect) {
			t.Errorf("got %v", got.Paths)
		}
	}
	if !strings.HasPrefix(get(t, s, "/").Body.String(), "{\n  \"paths\": [\n    \"/api\",") {
		t.Error("the list is not indented")
	}
}

func TestHealth(t *testing.T) {
	w := described(t)
	synced := errors.New("pods")
	s := w.server(func(c *Config) { c.Synced = func() error { return synced } })
	for _, c := range []struct {
		path string
		code int
		body string
	}{
		{"/healthz", 200, "ok"},
		{"/livez", 200, "ok"},
		{"/livez?verbose", 200, "[+]ping ok\nlivez check passed\n"},
		{"/livez/ping", 200, "ok"},
		{"/livez/sync", 404, notFoundPage},
		{"/readyz", 500, "[+]ping ok\n[-]sync failed: reason withheld\nreadyz check failed\n"},
		{"/readyz/sync", 500, "internal server error: pods\n"},
		{"/readyz?exclude=sync", 200, "ok"},
		{"/readyz?exclude=sync&verbose", 200, "[+]ping ok\n[+]sync excluded: ok\nreadyz check passed\n"},
		{"/readyz?exclude=sync&exclude=b&exclude=a&verbose", 200, "[+]ping ok\n[+]sync excluded: ok\n" +
			`warn: some health checks cannot be excluded: no matches for "a","b"` + "\nreadyz check passed\n"},
	} {
		t.Run(c.path, func(t *testing.T) { want(t, get(t, s, c.path), c.code, c.body) })
	}
	if h := get(t, s, "/livez").Header(); h.Get("Content-Type") != "text/plain; charset=utf-8" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%v", h)
	}
	synced = nil
	want(t, get(t, s, "/readyz"), 200, "ok")
	want(t, get(t, s, "/readyz/sync"), 200, "ok")
	want(t, get(t, w.server(), "/readyz?verbose"), 200, "[+]ping ok\n[+]sync ok\nreadyz check passed\n")
}

// TestChecksOfTheAPIServer: the single checks that a caller of the cloud asks for are the API server's, unless something
// is wrong here.
func TestChecksOfTheAPIServer(t *testing.T) {
	w := described(t)
	var online bool
	var synced error
	s := w.server(func(c *Config) {
		c.Fallback, c.Online, c.Synced = passed, func() bool { return online }, func() error { return synced }
	})
	const path, local = "/readyz?verbose=1", "[+]ping ok\n[+]sync ok\nreadyz check passed\n"
	caller := []string{"Authorization", "Bearer x"}
	want(t, get(t, s, path, caller...), 200, local)
	online = true
	want(t, get(t, s, path, caller...), http.StatusTeapot, "")
	want(t, get(t, s, path), 200, local)
	want(t, get(t, s, "/readyz", caller...), 200, "ok")
	synced = errors.New("pods")
	want(t, get(t, s, path, caller...), 500, "[+]ping ok\n[-]sync failed: reason withheld\nreadyz check failed\n")
}
