package embedded

import (
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestParseTarget(t *testing.T) {
	core := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Version: "v1", Resource: resource}
	}
	apps := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	for path, want := range map[string]target{
		"/api/v1/pods":                                  {resource: core("pods")},
		"/api/v1/nodes/n/status":                        {resource: core("nodes"), name: "n", sub: "status"},
		"/api/v1/namespaces":                            {resource: core("namespaces")},
		"/api/v1/namespaces/n":                          {resource: core("namespaces"), name: "n"},
		"/api/v1/namespaces/n/status":                   {resource: core("namespaces"), name: "n", sub: "status"},
		"/api/v1/namespaces/n/finalize":                 {resource: core("namespaces"), name: "n", sub: "finalize"},
		"/api/v1/namespaces/n/pods":                     {resource: core("pods"), namespace: "n"},
		"/api/v1/namespaces/n/pods/p/":                  {resource: core("pods"), namespace: "n", name: "p"},
		"/api/v1/namespaces/n/pods/p/proxy/a/b":         {resource: core("pods"), namespace: "n", name: "p", sub: "proxy/a/b"},
		"/apis/apps/v1/deployments":                     {resource: apps},
		"/apis/apps/v1/namespaces/n/deployments/d":      {resource: apps, namespace: "n", name: "d"},
		"/apis/apps/v1/namespaces/n/deployments/status": {resource: apps, namespace: "n", name: "status"},
	} {
		if got, ok := parseTarget(path); !ok || got != want {
			t.Errorf("%s: %+v, %v", path, got, ok)
		}
	}
	for _, path := range []string{"", "/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/version", "/openapi/v3/api/v1"} {
		if got, ok := parseTarget(path); ok {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

// Whatever the path is, a target has a resource and a version, and a subresource only of something.
func FuzzParseTarget(f *testing.F) {
	f.Add("/api/v1/namespaces/n/pods/p/status")
	f.Add("/apis/a/b/c")
	f.Fuzz(func(t *testing.T, path string) {
		got, ok := parseTarget(path)
		if ok && got.sub != "" && got.name == "" && got.resource.Resource == "" {
			t.Errorf("%q: %+v", path, got)
		}
	})
}

// Whatever is accepted, an answer is in one of three formats.
func FuzzNegotiate(f *testing.F) {
	f.Add("application/json;q=0.5, */*")
	f.Add("application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json")
	f.Fuzz(func(t *testing.T, accept string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept", accept)
		form, err := negotiate(r, face{})
		known := map[string]bool{"application/json": true, "application/yaml": true, "application/vnd.kubernetes.protobuf": true}
		if err == nil && !known[form.mediaType] {
			t.Errorf("%q: %+v", accept, form)
		}
	})
}
