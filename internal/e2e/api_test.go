//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// api is a Kubernetes API to talk to: a kube-apiserver's, an embedded cloud's or an edge's.
type api struct {
	name   string // of the server, in histories
	base   string // URL
	client *http.Client
}

// newAPI returns a plain HTTP API. Its connections are let go at t's end.
func newAPI(t testing.TB, name, base string) *api {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &api{name: name, base: base, client: &http.Client{Transport: transport}}
}

// resource is a Kubernetes resource as tests name it.
type resource struct {
	name   string // in histories
	prefix string // path of the group version, "/api/v1"
	plural string
}

var (
	configMaps = resource{"configmaps", "/api/v1", "configmaps"}
	secrets    = resource{"secrets", "/api/v1", "secrets"}
	pods       = resource{"pods", "/api/v1", "pods"}
	nodes      = resource{"nodes", "/api/v1", "nodes"}
	namespaces = resource{"namespaces", "/api/v1", "namespaces"}
	widgets    = resource{"widgets.ex.io", "/apis/ex.io/v1", "widgets"}
)

// path is the URL path of the collection, in one namespace or, with "", of all.
func (r resource) path(namespace string) string {
	if namespace == "" {
		return r.prefix + "/" + r.plural
	}
	return r.prefix + "/namespaces/" + namespace + "/" + r.plural
}

// object is the URL path of one object.
func (r resource) object(key string) string {
	namespace, name, found := strings.Cut(key, "/")
	if !found {
		namespace, name = "", key
	}
	return r.path(namespace) + "/" + name
}

// target is where a recorder reads the whole resource with the query.
func (a *api) target(r resource, query url.Values) guarantee.Target {
	return guarantee.Target{Client: a.client, URL: a.base + r.path(""), Query: query}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request. Only a failed connection is an error.
func (a *api) do(ctx context.Context, method, path string, body []byte) (answer, error) {
	return a.send(ctx, method, path, "application/json", body)
}

// patch sends a JSON merge patch.
func (a *api) patch(ctx context.Context, path string, body []byte) (answer, error) {
	return a.send(ctx, http.MethodPatch, path, "application/merge-patch+json", body)
}

func (a *api) send(ctx context.Context, method, path, contentType string, body []byte) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	return answer{response.StatusCode, response.Header, text}, nil
}

// get sends a GET that has to be answered with 200.
func (a *api) get(t testing.TB, path string) answer {
	t.Helper()
	got, err := a.do(t.Context(), http.MethodGet, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.status != http.StatusOK {
		t.Fatalf("GET %s%s: %d %s", a.base, path, got.status, got.body)
	}
	return got
}

// create posts objects that have to be taken.
func (a *api) create(t testing.TB, r resource, namespace string, body string) guarantee.Object {
	t.Helper()
	got, err := a.do(t.Context(), http.MethodPost, r.path(namespace), []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if got.status != http.StatusCreated {
		t.Fatalf("POST %s: %d %s", r.path(namespace), got.status, got.body)
	}
	o, err := guarantee.ParseObject(bytes.TrimSpace(got.body))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// remove deletes an object that has to be there.
func (a *api) remove(t testing.TB, r resource, key string) {
	t.Helper()
	got, err := a.do(t.Context(), http.MethodDelete, r.object(key)+"?gracePeriodSeconds=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.status != http.StatusOK {
		t.Fatalf("DELETE %s: %d %s", r.object(key), got.status, got.body)
	}
}

// listed is the JSON of a list.
type listed struct {
	Kind     string
	Metadata struct {
		ResourceVersion    string
		Continue           string
		RemainingItemCount int
	}
	Items []json.RawMessage
}

// list gets a list that has to be answered with 200.
func (a *api) list(t testing.TB, path string) listed {
	t.Helper()
	return parseList(t, a.get(t, path).body)
}

func parseList(t testing.TB, body []byte) listed {
	t.Helper()
	var l listed
	if err := json.Unmarshal(body, &l); err != nil {
		t.Fatalf("list: %v in %.200s", err, body)
	}
	return l
}

// keys are those of the items, in order.
func (l listed) keys(t testing.TB) []string {
	t.Helper()
	keys := make([]string, len(l.Items))
	for i, item := range l.Items {
		o, err := guarantee.ParseObject(item)
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = o.Key
	}
	return keys
}

// sameItems fails unless the two lists hold the same bytes.
func sameItems(t testing.TB, what string, got, want listed) {
	t.Helper()
	if len(got.Items) != len(want.Items) {
		t.Errorf("%s: %d items, want %d: got %v, want %v", what, len(got.Items), len(want.Items), got.keys(t), want.keys(t))
		return
	}
	for i := range got.Items {
		if !bytes.Equal(got.Items[i], want.Items[i]) {
			t.Errorf("%s: item %d differs\n  got  %s\n  want %s", what, i, got.Items[i], want.Items[i])
			return
		}
	}
}

// tryList gets a list that may not be there yet.
func (a *api) tryList(t testing.TB, path string) (listed, error) {
	t.Helper()
	got, err := a.do(t.Context(), http.MethodGet, path, nil)
	if err != nil {
		return listed{}, err
	}
	if got.status != http.StatusOK {
		return listed{}, fmt.Errorf("GET %s: %d %s", path, got.status, got.body)
	}
	return parseList(t, got.body), nil
}

// awaitSameItems waits until a list of the edge holds what the cloud's does.
func awaitSameItems(t testing.TB, edge *api, edgePath string, cloud *api, cloudPath string) {
	t.Helper()
	if err := sameItemsWithin(t, edge, edgePath, cloud, cloudPath); err != nil {
		t.Fatal(err)
	}
}

func sameItemsWithin(t testing.TB, edge *api, edgePath string, cloud *api, cloudPath string) error {
	t.Helper()
	return within(t, func() error {
		got, err := edge.tryList(t, edgePath)
		if err != nil {
			return err
		}
		want := cloud.list(t, cloudPath)
		if len(got.Items) != len(want.Items) {
			return fmt.Errorf("%s: %d items, want %d", edgePath, len(got.Items), len(want.Items))
		}
		for i := range got.Items {
			if !bytes.Equal(got.Items[i], want.Items[i]) {
				return fmt.Errorf("%s: item %d differs\n  got  %s\n  want %s", edgePath, i, got.Items[i], want.Items[i])
			}
		}
		return nil
	})
}
