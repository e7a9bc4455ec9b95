package kube

import (
	"net/http"
	"testing"
	"time"
)

// openAPIAPI is an API server with OpenAPI documents.
func openAPIAPI() *fakeAPI {
	api := newFakeAPI()
	api.specs = map[string]string{"v2": "two", "v3/api/v1": "pods", "v3/apis/apps/v1": "deployments"}
	return api
}

// text returns the text of a document, "" when there is none.
func (h *harness) text(path, accept string) string {
	d, ok := h.Documents().Get(path, accept)
	if !ok {
		return ""
	}
	return d.Body.String()
}

// sameOpenAPI checks that the documents are all that the server has, in both forms.
func (h *harness) sameOpenAPI() {
	h.t.Helper()
	h.api.mu.Lock()
	defer h.api.mu.Unlock()
	for name, text := range h.api.specs {
		accept := acceptOpenAPIV3
		if name == "v2" {
			accept = acceptOpenAPIV2
		}
		if got := h.text("/openapi/"+name, ""); got != text {
			h.t.Errorf("%s: %q", name, got)
		}
		if got := h.text("/openapi/"+name, accept); got != "protobuf:"+text {
			h.t.Errorf("%s in protobuf: %q", name, got)
		}
	}
	if got, want := h.text("/openapi/v3", ""), h.api.openAPIIndexLocked()+"\n"; got != want {
		h.t.Errorf("index %s", got)
	}
}

func TestOpenAPIIsKeptAndFollowed(t *testing.T) {
	api := openAPIAPI()
	bubble(t, api, func(h *harness) {
		time.Sleep(time.Second)
		h.sameOpenAPI()
		before := api.count("/openapi/v3/api/v1?hash")
		api.set(func() {
			api.specs["v2"], api.specs["v3/apis/ex.io/v1"] = "two and widgets", "widgets"
			delete(api.specs, "v3/apis/apps/v1")
		})
		h.definitionsChanged()
		time.Sleep(300 * time.Millisecond)
		if got := h.text("/openapi/v3/apis/ex.io/v1", ""); got != "widgets" {
			t.Errorf("what is new: %q", got)
		}
		if got := h.text("/openapi/v3/apis/apps/v1", ""); got != "" {
			t.Errorf("what is gone: %q", got)
		}
		time.Sleep(4 * time.Second)
		h.sameOpenAPI()
		if n := api.count("/openapi/v3/api/v1?hash") - before; n != 0 {
			t.Errorf("what did not change was fetched %d times", n)
		}
	})
}

// TestLegacyOpenAPIWaitsUntilDefinitionsSettle: all of it changes with every definition.
func TestLegacyOpenAPIWaitsUntilDefinitionsSettle(t *testing.T) {
	api := openAPIAPI()
	bubble(t, api, func(h *harness) {
		time.Sleep(time.Minute)
		before := api.count("/openapi/v2?")
		for range 50 {
			h.definitionsChanged()
			time.Sleep(100 * time.Millisecond)
		}
		if n := api.count("/openapi/v2?") - before; n != 0 {
			t.Errorf("%d fetches while definitions change", n)
		}
		looked := api.count("/openapi/v3?")
		if time.Sleep(5 * time.Second); api.count("/openapi/v2?") == before || api.count("/openapi/v3?") == looked {
			t.Error("nobody looked after the last change")
		}
		looked = api.count("/openapi/v3?")
		if time.Sleep(time.Minute); api.count("/openapi/v3?")-looked > 2 {
			t.Error("looks go on although nothing changes")
		}
	})
}

// TestOpenAPIThatChangesWhileItIsRead: index and documents are of one moment, or the old ones stay.
func TestOpenAPIThatChangesWhileItIsRead(t *testing.T) {
	api := openAPIAPI()
	bubble(t, api, func(h *harness) {
		time.Sleep(time.Second)
		n := 0
		api.set(func() {
			api.specs["v3/api/v1"] = "first"
			api.afterIndex = func() {
				if n++; n == 1 {
					api.specs["v3/api/v1"] = "second"
				}
			}
		})
		h.definitionsChanged()
		time.Sleep(20 * time.Second)
		h.sameOpenAPI()
		index := h.text("/openapi/v3", "")
		api.set(func() { api.afterIndex = func() { api.specs["v3/api/v1"] += "x" } })
		h.definitionsChanged()
		time.Sleep(20 * time.Second)
		if h.text("/openapi/v3", "") != index || h.text("/openapi/v3/api/v1", "") != "second" {
			t.Error("a reading that can't be right was taken")
		}
	})
}

func TestOpenAPIOfAServerThatIsDownStays(t *testing.T) {
	api := openAPIAPI()
	bubble(t, api, func(h *harness) {
		time.Sleep(time.Second)
		hash := h.Documents().Hash()
		api.set(func() { api.down = http.StatusServiceUnavailable })
		h.definitionsChanged()
		time.Sleep(time.Hour)
		if h.Documents().Hash() != hash {
			t.Error("the documents changed")
		}
	})
}
