package litesrv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// fuzzed is a small world to send anything to.
func fuzzed(f *testing.F) *Server {
	w := newWorld(f, 100)
	w.docs.Replace(discovery())
	w.load(configmaps, thing{ns: "t1", name: "c1", labels: `"app":"a"`}, thing{ns: "t1", name: "c2"})
	w.load(pods, thing{ns: "t1", name: "p1", rest: `,"spec":{"nodeName":"n1"}`})
	w.load(coreEvents, thing{ns: "t1", name: "e1"})
	w.load(nodes, thing{name: "n1"})
	w.load(widgets, thing{ns: "t1", name: "w1", rest: `,"spec":{"color":"red"}`})
	s := w.server()
	s.freshWait = 0
	return s
}

// mayFail tells whether kube-apiserver too answers a request with 500: for a path that ends in /watch, for a revision of a
// GET or WATCH that is no number, for one that etcd takes for a negative one, and for metadata of a custom resource in
// the shape of a list.
func mayFail(body string) bool {
	return strings.Contains(body, "unable to determine kind and namespace from url") ||
		strings.Contains(body, "resourceVersion: Invalid value") || strings.Contains(body, "etcd returned revision") ||
		strings.Contains(body, "content is not a list")
}

// longestAnswer is more than any answer takes, on the slowest machine.
const longestAnswer = time.Minute

// ask sends a request and checks the invariants of any answer: there is one, it isn't a server's fault, and an error is a
// Status whose code is that of the answer. The client of a watch is gone already. No answer waits for anything: one that
// has not come in a minute never does.
func ask(t *testing.T, s *Server, u *url.URL, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longestAnswer)
	defer time.AfterFunc(2*longestAnswer, func() { panic(fmt.Sprintf("%s %v: the end of its context is not heard", u, header)) }).Stop()
	if u.Query().Has("watch") || strings.Contains(u.Path, "/watch/") {
		cancel()
	}
	defer cancel()
	r := (&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}, RequestURI: u.RequestURI(), Host: "edge"}).WithContext(ctx)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	body := w.Body.String()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("%s %v: no answer came by itself", u, header)
	}
	if w.Code == http.StatusInternalServerError && !mayFail(body) {
		t.Errorf("%s %v: %d %s", u, header, w.Code, body)
	}
	if w.Code >= 400 && w.Header().Get("Content-Type") == "application/json" {
		var status struct {
			Kind string
			Code int
		}
		if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil || status.Kind != "Status" || status.Code != w.Code {
			t.Errorf("%s %v: %d with %v %s", u, header, w.Code, err, body)
		}
	}
	return w
}

// resourcePaths are what fuzzed queries and headers are sent to.
var resourcePaths = []string{
	"/api/v1/configmaps", "/api/v1/namespaces/t1/configmaps", "/api/v1/namespaces/t1/configmaps/c1", "/api/v1/namespaces/t1/events",
	"/api/v1/watch/namespaces/t1/pods/p1", "/apis/ex.io/v1/widgets", "/apis/ex.io/v1/namespaces/t1/widgets/w1", "/apis", "/version",
	"/openapi/v3/apis/apps/v1", "/readyz", "/",
}

func FuzzQuery(f *testing.F) {
	for _, q := range []string{
		"", "watch=1&resourceVersion=0&allowWatchBookmarks=abc", "resourceVersion=18446744073709551615&resourceVersionMatch=Exact",
		"limit=-1&continue=x&timeoutSeconds=z", "limit=1&resourceVersion=100", "sendInitialEvents=true&watch=true&resourceVersionMatch=NotOlderThan",
		"labelSelector=a%20in%20(b)&fieldSelector=metadata.name%3Dc1", "timeout=1h&pretty=true", "exclude=ping&verbose", "hash=x",
		"resourceVersion=110&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Dc1", "resourceVersion=110&limit=1&timeout=1s",
		"watch=1&timeoutSeconds=9223372036854775807", "%zz", "a;b", "limit=9223372036854775807", "export=true", "=", "&&&",
	} {
		f.Add(q)
	}
	s := fuzzed(f)
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range resourcePaths {
			ask(t, s, &url.URL{Path: path, RawQuery: query})
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, p := range []string{
		"/", "", "//", "/api", "/api/v1", "/api//v1", "/api/v1/watch", "/api/v1/namespaces//pods/x", "/api/v1/namespaces//status", "/apis/apps/v1/watch",
		"/api/v1/namespaces/t1/pods/../x", "/api/v1/namespaces/t1/configmaps/%", "/apis/ex.io/v1/namespaces/t1/widgets/w1/status/x",
		"/openapi/", "/openapi/v3//", "/livez/", "/readyz/ping", "/version/", "/apis//", "/api/v1/nodes/\x00", "/index.html",
	} {
		f.Add(p)
	}
	s := fuzzed(f)
	f.Fuzz(func(t *testing.T, path string) {
		ask(t, s, &url.URL{Path: path})
		ask(t, s, &url.URL{Path: "/api/v1/namespaces/" + path})
	})
}

func FuzzAcceptOfAllPaths(f *testing.F) {
	for _, a := range []string{
		"", "*/*", "application/*;q=0", "application/json;as=Table;g=meta.k8s.io;v=v1", aggregatedAccept, "application/yaml;pretty=1",
		"application/vnd.kubernetes.protobuf;stream=watch", "application/json;q=abc", ",", ";", "application/json;", "a/b/c", acceptV3,
		"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1",
	} {
		f.Add(a, "gzip")
	}
	s := fuzzed(f)
	f.Fuzz(func(t *testing.T, accept, encoding string) {
		for _, path := range resourcePaths {
			ask(t, s, &url.URL{Path: path}, "Accept", accept, "Accept-Encoding", encoding)
		}
		ask(t, s, &url.URL{Path: resourcePaths[0], RawQuery: "watch=1&allowWatchBookmarks=1"}, "Accept", accept, "Accept-Encoding", encoding)
	})
}

// FuzzSelectors holds that a selector is either refused as apimachinery refuses it, or selects what it matches.
func FuzzSelectors(f *testing.F) {
	for _, q := range [][2]string{
		{"", ""}, {"app=a", "metadata.name=c1"}, {"!app", "metadata.name!=c1,metadata.namespace=t1"}, {"app in (a,b),x notin (c)", `metadata.name=c\,1`},
		{"a===", "foo"}, {"a>1", "spec.x=y"}, {"a b c", "=="}, {"app=", "metadata.name="},
	} {
		f.Add(q[0], q[1])
	}
	s := fuzzed(f)
	f.Fuzz(func(t *testing.T, label, field string) {
		query := url.Values{"labelSelector": {label}, "fieldSelector": {field}}.Encode()
		for _, path := range resourcePaths[:8] {
			ask(t, s, &url.URL{Path: path, RawQuery: query})
		}
		answer := ask(t, s, &url.URL{Path: "/api/v1/configmaps", RawQuery: query})
		l, labelErr := labels.Parse(label)
		fs, fieldErr := fields.ParseSelector(field)
		if labelErr != nil || fieldErr != nil {
			if answer.Code != http.StatusBadRequest {
				t.Errorf("%q %q: %d", label, field, answer.Code)
			}
			return
		}
		if answer.Code != http.StatusOK {
			return // an unknown field
		}
		for name, set := range map[string]labels.Set{"c1": {"app": "a"}, "c2": {}} {
			match := l.Matches(set) && fs.Matches(fields.Set{"metadata.name": name, "metadata.namespace": "t1"})
			if got := strings.Contains(answer.Body.String(), `"name":"`+name+`"`); got != match {
				t.Errorf("%q %q: %s is selected: %v", label, field, name, got)
			}
		}
	})
}

// FuzzContinue holds that a token that is read is written as it was, and that a list takes any token or refuses it.
func FuzzContinue(f *testing.F) {
	for _, text := range []string{
		"", "YQ", "!!", token(100, "/c1\x00"), token(100, "c1\x00"), token(-1, "t1/c1\x00"), token(1, "x"), token(999, "c"), token(-5, "/"),
		"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MH0", "bnVsbA", "W10",
	} {
		f.Add(text)
	}
	s := fuzzed(f)
	f.Fuzz(func(t *testing.T, text string) {
		if token, err := decodeContinue(text); err == nil {
			again, err := decodeContinue(token.encode())
			if err != nil || again != token {
				t.Errorf("%q: %+v became %+v, %v", text, token, again, err)
			}
		}
		for _, path := range []string{"/api/v1/configmaps", "/api/v1/namespaces/t1/configmaps", "/api/v1/namespaces/t1/events", "/apis/ex.io/v1/widgets"} {
			answer := ask(t, s, &url.URL{Path: path, RawQuery: url.Values{"continue": {text}, "limit": {"1"}}.Encode()})
			switch answer.Code {
			case http.StatusOK, http.StatusBadRequest, http.StatusGone, http.StatusGatewayTimeout:
			default:
				t.Errorf("%s with %q: %d %s", path, text, answer.Code, answer.Body)
			}
		}
	})
}
