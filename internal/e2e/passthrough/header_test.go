package passthrough

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recorder is an API server that remembers what it was sent.
type recorder struct {
	mu   sync.Mutex // guards all below
	last *http.Request
	body string
}

func (a *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	a.last, a.body = r.Clone(r.Context()), string(body)
	a.mu.Unlock()
	w.Header().Set("Audit-Id", "of-the-cloud")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"was":%q}`, r.Method)
}

func (a *recorder) take() (*http.Request, string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.last
	a.last = nil
	return last, a.body
}

func TestACallersTokenTravelsAlone(t *testing.T) {
	api := &recorder{}
	r := newRig(t, api)
	resp, body := r.ask("POST", "/api/v1/namespaces/a%2Fb/pods?dryRun=All&x=%20y", `{"a":1}`,
		"Authorization", "Bearer mine", "Impersonate-User", "jane", "Content-Type", "application/json", "Accept-Encoding", "gzip",
		"X-Remote-User", "admin", "X-Remote-Group", "system:masters", "X-Remote-Extra-Scopes", "all", "X-Forwarded-For", "10.0.0.1",
		"Connection", "X-Mine", "X-Mine", "hop", "Proxy-Authorization", "Basic x", "Te", "trailers", "User-Agent", "kubectl/1")
	if resp.StatusCode != 201 || body != `{"was":"POST"}` || resp.Header.Get("Audit-Id") != "of-the-cloud" {
		t.Errorf("answer %d %s %v", resp.StatusCode, body, resp.Header)
	}
	got, sent := api.take()
	if got.RequestURI != "/api/v1/namespaces/a%2Fb/pods?dryRun=All&x=%20y" || sent != `{"a":1}` || got.ContentLength != 7 {
		t.Errorf("sent %s %q %d", got.RequestURI, sent, got.ContentLength)
	}
	var names []string
	for name := range got.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	want := "Accept-Encoding Authorization Content-Length Content-Type Impersonate-User User-Agent"
	if strings.Join(names, " ") != want {
		t.Errorf("headers %v, want %s", names, want)
	}
	if got.Header.Get("Authorization") != "Bearer mine" || got.Header.Get("User-Agent") != "kubectl/1" ||
		got.Header.Get("Impersonate-User") != "jane" {
		t.Errorf("headers %v", got.Header)
	}
}

func TestAnEdgesOwnUser(t *testing.T) {
	api := &recorder{}
	r := newRig(t, api)
	r.ask("DELETE", "/api/v1/namespaces/ns/pods/p", "")
	got, _ := api.take()
	if got.Header.Get("Authorization") != "Bearer "+hubSecret || got.Header.Get("Impersonate-User") != "tombolo:edge:edge-1" ||
		!slices.Equal(got.Header["Impersonate-Group"], []string{"tombolo:edges", "system:authenticated"}) {
		t.Errorf("headers %v", got.Header)
	}
	for _, header := range []string{"Impersonate-User", "impersonate-group", "Impersonate-Uid", "Impersonate-Extra-Scopes"} {
		resp, body := r.ask("GET", "/api/v1/pods", "", header, "system:masters")
		if got, _ := api.take(); got != nil {
			t.Errorf("%s has reached the API server: %v", header, got.Header)
		}
		if resp.StatusCode != 403 || !strings.Contains(body, `"reason":"Forbidden"`) || !strings.Contains(body, `"kind":"Status"`) {
			t.Errorf("%s: %d %s", header, resp.StatusCode, body)
		}
	}
}
