package litesrv

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

const (
	acceptV2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	acceptV3 = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
	typeV2   = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	typeV3   = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
	pathV3   = "/openapi/v3/apis/apps/v1"
)

// longJSON is long enough to be compressed.
var longJSON = `{"swagger":"` + strings.Repeat("2.0 ", 1000) + `"}`

// openAPIServer serves OpenAPI documents, with JSON under either of the spellings of its Accept.
func openAPIServer(t *testing.T, json string) *Server {
	w := described(t)
	add := func(path, accept, mediaType, etag, body string) apidoc.Document {
		return apidoc.Document{Path: path, Accept: accept, MediaType: mediaType, ETag: etag, Body: apidoc.Pack([]byte(body))}
	}
	rest := slices.DeleteFunc(discovery(), func(d apidoc.Document) bool { return strings.HasPrefix(d.Path, "/openapi/") })
	w.docs.Replace(append(rest,
		add("/openapi/v2", json, "application/json", `"AB"`, longJSON), add("/openapi/v2", acceptV2, typeV2, `"AB"`, "proto2"),
		add("/openapi/v3", "", "text/plain; charset=utf-8", "", `{"paths":{}}`),
		add(pathV3, json, "application/json", `"F00D"`, `{"openapi":"3.0.0"}`), add(pathV3, acceptV3, typeV3, `"F00D"`, "proto3")))
	return w.server()
}

func TestOpenAPIByAccept(t *testing.T) {
	for _, json := range []string{"", "application/json"} {
		s := openAPIServer(t, json)
		for _, c := range []struct{ path, accept, mediaType, body string }{
			{pathV3, "", "application/json", `{"openapi":"3.0.0"}`},
			{pathV3, "*/*", "application/json", `{"openapi":"3.0.0"}`},
			{pathV3, "application/*", "application/json", `{"openapi":"3.0.0"}`},
			{pathV3, "application/json;as=Table", "application/json", `{"openapi":"3.0.0"}`},
			{pathV3, acceptV3, typeV3, "proto3"},
			{pathV3, typeV3, typeV3, "proto3"},
			{pathV3, acceptV3 + ";q=0.1,application/json", "application/json", `{"openapi":"3.0.0"}`},
			{pathV3, "garbage", "", ""},
			{"/openapi/v2", "application/json;q=0.1, " + acceptV2, typeV2, "proto2"},
			{"/openapi/v2", "text/html,application/json", "application/json", longJSON},
			{"/openapi/v3", "application/yaml", "text/plain; charset=utf-8", `{"paths":{}}`},
		} {
			answer := get(t, s, c.path, "Accept", c.accept)
			want(t, answer, http.StatusOK, c.body)
			if got := answer.Header().Get("Content-Type"); got != c.mediaType {
				t.Errorf("%s as %s: %s", c.path, c.accept, got)
			}
		}
		for _, path := range []string{pathV3, pathV3 + "?hash=BAD", "/openapi/v2"} {
			answer := get(t, s, path, "Accept", "application/yaml")
			want(t, answer, http.StatusNotAcceptable, "")
			if v := answer.Header()["Vary"]; !slices.Contains(v, "Accept") || answer.Header().Get("Content-Type") != "" {
				t.Errorf("%s: %v", path, answer.Header())
			}
		}
	}
}

func TestOpenAPIAddressesCarryTheHash(t *testing.T) {
	s := openAPIServer(t, "")
	h := get(t, s, pathV3+"?hash=F00D").Header()
	if h.Get("Cache-Control") != "public, immutable" || !strings.HasSuffix(h.Get("Expires"), " UTC") || h.Get("Content-Length") != "19" {
		t.Errorf("right hash: %v", h)
	}
	for _, header := range [][]string{nil, {"If-None-Match", `"F00D"`}} {
		answer := get(t, s, pathV3+"?hash=BAD", header...)
		if answer.Code != http.StatusMovedPermanently || answer.Header().Get("Location") != pathV3+"?hash=F00D" || answer.Body.Len() > 0 {
			t.Errorf("wrong hash: %d %v", answer.Code, answer.Header())
		}
	}
	if h = get(t, s, pathV3).Header(); h.Get("Cache-Control") != "no-cache, private" {
		t.Errorf("no hash: %v", h)
	}
	want(t, get(t, s, "/openapi/v3?hash=x"), http.StatusOK, `{"paths":{}}`)
	want(t, get(t, s, pathV3+"/?hash=BAD"), http.StatusNotFound, "")
}

func TestOpenAPIKnowsConditions(t *testing.T) {
	s := openAPIServer(t, "")
	later := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for _, c := range []struct {
		path   string
		header []string
		code   int
	}{
		{pathV3, []string{"If-None-Match", `"F00D"`}, 304},
		{pathV3, []string{"If-None-Match", `W/"F00D"`}, 304},
		{pathV3 + "?hash=F00D", []string{"If-None-Match", `"F00D"`}, 304},
		{pathV3, []string{"If-None-Match", `"old"`}, 200},
		{pathV3, []string{"If-Modified-Since", later}, 304},
		{"/openapi/v2", []string{"If-None-Match", `"AB"`, "Accept-Encoding", "gzip"}, 304},
		{"/openapi/v3", []string{"If-Modified-Since", later}, 304},
		{pathV3, []string{"Range", "bytes=0-4"}, 206},
	} {
		answer := get(t, s, c.path, c.header...)
		h := answer.Header()
		if answer.Code != c.code || (c.code == 304) != (answer.Body.Len() == 0) || h.Get("Content-Encoding") != "" {
			t.Errorf("%s %v: %d %s %v", c.path, c.header, answer.Code, answer.Body, h)
		}
	}
}

func TestHeadersOfOpenAPI(t *testing.T) {
	s := openAPIServer(t, "")
	for path, c := range map[string]struct{ etag, vary string }{
		"/openapi/v2": {`"AB"`, "Accept-Encoding, Accept"}, "/openapi/v3": {"", ""}, pathV3: {`"F00D"`, "Accept"},
	} {
		answer := get(t, s, path, "User-Agent", "curl/8")
		h := answer.Header()
		if h.Get("ETag") != c.etag || strings.Join(h["Vary"], ", ") != c.vary || h.Get("Last-Modified") == "" ||
			strings.Contains(answer.Body.String(), "\n") {
			t.Errorf("%s: %v %s", path, h, answer.Body)
		}
	}
}

func TestOnlyVersion2OfOpenAPIIsCompressed(t *testing.T) {
	s := openAPIServer(t, "")
	answer := get(t, s, "/openapi/v2", "Accept-Encoding", "gzip")
	h := answer.Header()
	if h.Get("Content-Encoding") != "gzip" || h.Get("Content-Length") != "" || h.Get("ETag") != `"AB"` {
		t.Errorf("%v", h)
	}
	if got := unzip(t, answer); got != longJSON {
		t.Errorf("got %s", got)
	}
	for _, c := range [][2]string{{"/openapi/v2", acceptV2}, {pathV3, ""}, {"/openapi/v3", ""}} {
		if h := get(t, s, c[0], "Accept", c[1], "Accept-Encoding", "gzip").Header(); h.Get("Content-Encoding") != "" {
			t.Errorf("%s: %v", c[0], h)
		}
	}
}

func unzip(t *testing.T, answer *httptest.ResponseRecorder) string {
	t.Helper()
	z, err := gzip.NewReader(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
