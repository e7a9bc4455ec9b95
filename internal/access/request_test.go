package access

import (
	"net/http/httptest"
	"testing"
)

// TestParse: what kube-apiserver 1.37 takes these for (apiserver pkg/endpoints/request/requestinfo_test.go has most of them).
func TestParse(t *testing.T) {
	for _, c := range []struct {
		method, path string
		want         Request
	}{
		{"GET", "/api/v1/pods", Request{Verb: "list", Resource: "pods"}},
		{"GET", "/api/v1/pods?watch=true", Request{Verb: "watch", Resource: "pods"}},
		{"GET", "/api/v1/pods?watch=False", Request{Verb: "list", Resource: "pods"}},
		{"GET", "/api/v1/pods?watch", Request{Verb: "watch", Resource: "pods"}},
		{"GET", "/api/v1/watch/namespaces/a/pods", Request{Verb: "watch", Resource: "pods", Namespace: "a"}},
		{"HEAD", "/api/v1/namespaces/a/pods/p", Request{Verb: "get", Resource: "pods", Namespace: "a", Name: "p"}},
		{"GET", "/api/v1/namespaces/a", Request{Verb: "get", Resource: "namespaces", Namespace: "a", Name: "a"}},
		{"GET", "/api/v1/namespaces", Request{Verb: "list", Resource: "namespaces"}},
		{"PUT", "/api/v1/namespaces/a/finalize", Request{Verb: "update", Resource: "namespaces", Namespace: "a", Name: "a", Subresource: "finalize"}},
		{"GET", "/api/v1/namespaces/a/pods/p/log/x", Request{Verb: "get", Resource: "pods", Namespace: "a", Name: "p", Subresource: "log"}},
		{"DELETE", "/apis/apps/v1/namespaces/a/deployments", Request{Verb: "deletecollection", Group: "apps", Resource: "deployments", Namespace: "a"}},
		{"PATCH", "/apis/apps/v1/namespaces/a/deployments/d/scale", Request{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "a", Name: "d", Subresource: "scale"}},
		{"GET", "/api/v1/pods?fieldSelector=metadata.name%3Dp", Request{Verb: "list", Resource: "pods", Name: "p"}},
		{"GET", "/api/v1/pods?fieldSelector=metadata.name%3Dp&limit=x", Request{Verb: "list", Resource: "pods"}},
		{"GET", "/api/v1/pods?fieldSelector=metadata.name%3Da%2Fb", Request{Verb: "list", Resource: "pods"}},
		{"GET", "/api/v1", Request{Verb: "get"}},
		{"GET", "/apis/apps/v1", Request{Verb: "get"}},
		{"POST", "/version", Request{Verb: "post"}},
		{"GET", "//api/v1/pods", Request{Verb: "list", Resource: "pods"}},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		c.want.Path = r.URL.Path
		if got := Parse(r); got != c.want {
			t.Errorf("%s %s:\n got %+v\nwant %+v", c.method, c.path, got, c.want)
		}
	}
}

func TestServiceAccount(t *testing.T) {
	for user, want := range map[string]bool{
		"system:serviceaccount:a:b": true, "system:serviceaccount:a:b:c": false, "system:serviceaccount:a": false,
		"system:serviceaccount:A:b": false, "ann": false, "system:serviceaccount::b": false,
	} {
		if _, _, ok := ServiceAccount(user); ok != want {
			t.Errorf("%s: %v", user, ok)
		}
	}
}
