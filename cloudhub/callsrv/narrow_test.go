package callsrv

import (
	"testing"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

func TestReadsAreNarrowedToTheScope(t *testing.T) {
	f, err := scope.Parse([]byte(`scopes:
- name: x
  edges: [e]
  nodes: [n1]
  rules:
  - {resource: nodes}
  - {resource: pods, boundToNode: spec.nodeName, fieldSelector: "status.phase!=Failed"}
  - {resource: configmaps, namespaces: [a]}
  - {resource: secrets, namespaces: [a, b]}
  - {resource: services, labelSelector: "x in (1,2)"}
  - {resource: endpoints, labelSelector: "x=1"}
  - {resource: endpoints, labelSelector: "x=2"}
  - {resource: events, labelSelector: "x=1"}
  - {resource: events}
`))
	if err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]string{
		"/api/v1/nodes?limit=5": "/api/v1/nodes?limit=5",
		"/api/v1/pods":          "/api/v1/pods?fieldSelector=status.phase%21%3DFailed%2Cspec.nodeName%3Dn1",
		"/api/v1/pods?fieldSelector=metadata.name%3Dp":      "/api/v1/pods?fieldSelector=metadata.name%3Dp%2Cstatus.phase%21%3DFailed%2Cspec.nodeName%3Dn1",
		"/api/v1/namespaces/a/configmaps?continue=x":        "/api/v1/namespaces/a/configmaps?continue=x",
		"/api/v1/namespaces/a/configmaps/c":                 "/api/v1/namespaces/a/configmaps/c",
		"/api/v1/namespaces/a/services?labelSelector=y":     "/api/v1/namespaces/a/services?labelSelector=y%2Cx+in+%281%2C2%29",
		"/api/v1/services?labelSelector=y&labelSelector=ok": "/api/v1/services?labelSelector=y%2Cx+in+%281%2C2%29",
		"/api/v1/events": "/api/v1/events",
		// What can't be said in one request, is not in the scope, or no plain read of a resource.
		"/api/v1/configmaps":                "",
		"/api/v1/namespaces/b/configmaps":   "",
		"/api/v1/namespaces/a/secrets":      "",
		"/api/v1/endpoints":                 "",
		"/api/v1/namespaces/a/pods/p":       "",
		"/apis/apps/v1/deployments":         "",
		"/api/v1/namespaces/a/pods/p/log":   "",
		"/api/v1/watch/nodes":               "",
		"/api/v1//nodes":                    "",
		"/version":                          "",
		"/api/v1/nodes/n/proxy/api/v1/pods": "",
	} {
		h, err := readHead(&tombolov1.CallHead{Method: "GET", Uri: uri}, 1000, 1000)
		if err != nil {
			t.Fatal(err)
		}
		err = narrow(h, f.For("e"))
		if (err == nil) != (want != "") || err == nil && h.url.RequestURI() != want {
			t.Errorf("%s becomes %s, %v", uri, h.url.RequestURI(), err)
		}
	}
	h, err := readHead(&tombolov1.CallHead{Method: "DELETE", Uri: "/api/v1/nodes"}, 1000, 1000)
	if err != nil || narrow(h, f.For("e")) == nil {
		t.Error("a write within a scope")
	}
}
