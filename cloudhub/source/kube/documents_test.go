package kube

import (
	"net/http"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// document returns the plain document at a path.
func (h *harness) document(path string) string {
	h.t.Helper()
	<-h.Started()
	d, ok := h.Documents().Get(path, "")
	if !ok {
		h.t.Fatalf("no document at %s", path)
	}
	return d.Body.String()
}

func TestDocumentsAreKeptVerbatim(t *testing.T) {
	api := newFakeAPI()
	api.addCustom()
	api.version = "{\n  \"major\": \"1\"\n}"
	bubble(t, api, func(h *harness) {
		<-h.Started()
		for _, path := range []string{"/api", "/apis", "/api/v1", "/apis/ex.io", "/apis/ex.io/v1", "/version"} {
			if a, err := h.Kube.api.get(h.t.Context(), path, mediaJSON, ""); err != nil || h.document(path) != string(a.body) {
				t.Errorf("%s (%v): %s", path, err, h.document(path))
			}
		}
		for _, path := range []string{"/api", "/apis"} {
			a, err := h.Kube.api.get(h.t.Context(), path, acceptAggregated, "")
			d, _ := h.Documents().Get(path, acceptAggregated)
			if err != nil || d.Body.String() != string(a.body) || d.MediaType != acceptAggregated || d.ETag != a.etag || d.ETag == "" {
				t.Errorf("%s (%v): %+v", path, err, d)
			}
		}
	})
}

func TestDocumentsFollowDefinitions(t *testing.T) {
	api := newFakeAPI()
	bubble(t, api, func(h *harness) {
		<-h.Started()
		changed := h.Documents().Changed()
		began := time.Now()
		api.addCustom()
		<-changed
		if d := time.Since(began); d > 10*time.Second {
			t.Errorf("took %s", d)
		}
		h.document("/apis/ex.io/v1")
	})
}

func TestUnchangedDocumentsAreNotSentAgain(t *testing.T) {
	api := newFakeAPI()
	bubble(t, api, func(h *harness) {
		h.document("/version")
		time.Sleep(time.Minute)
		before := api.count("/api/v1?")
		h.definitionsChanged()
		time.Sleep(time.Minute)
		if n := api.count("/api/v1?") - before; n != 0 {
			t.Errorf("%d fetches of what the ETag of the aggregated discovery vouches for", n)
		}
	})
}

func TestOnlyGroupsThatChangedAreFetchedAgain(t *testing.T) {
	api := newFakeAPI()
	bubble(t, api, func(h *harness) {
		h.document("/version")
		time.Sleep(30 * time.Second)
		before := api.count("/apis/apiextensions.k8s.io?") + api.count("/api/v1?")
		api.addCustom()
		time.Sleep(10 * time.Second)
		h.document("/apis/ex.io/v1")
		if n := api.count("/apis/apiextensions.k8s.io?") + api.count("/api/v1?") - before; n != 0 {
			t.Errorf("%d fetches of groups that did not change", n)
		}
	})
}

func TestChangedVersionIsNoticedWithinTheRefreshInterval(t *testing.T) {
	api := newFakeAPI()
	bubble(t, api, func(h *harness) {
		h.document("/version")
		api.set(func() { api.version = `{"major":"2"}` })
		time.Sleep(6 * time.Minute)
		if got := h.document("/version"); got != "{\"major\":\"2\"}\n" {
			t.Errorf("version %s", got)
		}
	})
}

// TestKeysOfTokensFollowTheServer: without them there is nothing that edges could verify tokens with, and all else goes on.
func TestKeysOfTokensFollowTheServer(t *testing.T) {
	api := newFakeAPI()
	bubble(t, api, func(h *harness) {
		h.document("/version")
		if _, ok := h.Documents().Get(apidoc.Keys, ""); ok {
			t.Error("keys that the hub may not read")
		}
		for _, keys := range []string{`{"keys":[1]}`, `{"keys":[2]}`} {
			api.set(func() { api.keys = keys })
			time.Sleep(6 * time.Minute)
			if got := h.document(apidoc.Keys); got != keys {
				t.Errorf("keys %s", got)
			}
		}
	})
}

func TestUnreachableServerKeepsTheDocuments(t *testing.T) {
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusForbidden} {
		api := newFakeAPI()
		bubble(t, api, func(h *harness) {
			h.document("/api/v1")
			hash := h.Documents().Hash()
			api.set(func() { api.down = status })
			h.definitionsChanged()
			time.Sleep(time.Hour)
			if h.Documents().Hash() != hash {
				t.Errorf("status %d: the documents changed", status)
			}
		})
	}
}

func TestUnavailableGroupKeepsItsDocument(t *testing.T) {
	api := newFakeAPI()
	r := api.addCustom()
	bubble(t, api, func(h *harness) {
		want := h.document("/apis/ex.io/v1")
		api.set(func() { r.status = http.StatusServiceUnavailable })
		time.Sleep(time.Hour)
		if got := h.document("/apis/ex.io/v1"); got != want {
			t.Errorf("document %s", got)
		}
	})
}

func TestServerWithoutAggregatedDiscovery(t *testing.T) {
	api := newFakeAPI()
	api.legacy = true
	api.addCustom()
	bubble(t, api, func(h *harness) {
		log := h.follow(widgets)
		if r := log.Resource(); r.Kind != "Widget" || r.ListKind != "WidgetList" || !r.Namespaced || !r.Custom {
			t.Errorf("resource %+v", r)
		}
		if _, ok := h.Documents().Get("/apis", acceptAggregated); ok {
			t.Error("a document that the server does not have")
		}
	})
}
