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

func TestOpenAPIAddressesCarryTheHash(t *testing.T) {
	s := described(t).server()
	const path = "/openapi/v3/apis/apps/v1"
	h := get(t, s, path+"?hash=F00D").Header()
	if h.Get("Cache-Control") != "public, immutable" || h.Get("Expires") == "" || h.Get("Content-Length") != "19" {
		t.Errorf("right hash: %v", h)
	}
	answer := get(t, s, path+"?hash=BAD")
	if answer.Code != http.StatusMovedPermanently || answer.Header().Get("Location") != path+"?hash=F00D" || answer.Body.Len() > 0 {
		t.Errorf("wrong hash: %d %v", answer.Code, answer.Header())
	}
	if h = get(t, s, path).Header(); h.Get("Cache-Control") != "no-cache, private" {
		t.Errorf("no hash: %v", h)
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
	for _, path := range []string{"/openapi/v2", "/openapi/v3/api/v1"} {
		want(t, get(t, alone, path), http.StatusNotFound, notFoundPage)
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
