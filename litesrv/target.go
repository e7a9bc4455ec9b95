package litesrv

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// target is what a URL path of the resource API names.
type target struct {
	core      bool // below /api, not /apis
	group     string
	version   string
	resource  string
	namespace string
	name      string
	// subresource is what follows the name, as far as the next slash; deeper is set when there is more.
	subresource string
	deeper      bool
	// blank is set when the path has a namespace without a name: namespaces//pods.
	blank bool
	// watch is set by the legacy prefix /watch/.
	watch bool
	// bare is set when nothing follows the legacy prefix, which kube-apiserver refuses in its own way.
	bare bool
}

// parseTarget reads a path as kube-apiserver does (apiserver pkg/endpoints/request/requestinfo.go). ok is false for a
// path that is not one of the resource API: discovery, health, or nothing at all.
func parseTarget(path string) (t target, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		t.core, parts = true, parts[1:]
	case len(parts) >= 4 && parts[0] == "apis":
		t.group, parts = parts[1], parts[2:]
	default:
		return target{}, false
	}
	t.version, parts = parts[0], parts[1:]
	if parts[0] == "watch" {
		t.watch, parts = true, parts[1:]
	}
	if len(parts) == 0 {
		t.bare = true
		return t, true
	}
	t.takeNames(parts)
	return t, true
}

// takeNames reads what follows the version: namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE and its shorter forms.
func (t *target) takeNames(parts []string) {
	if parts[0] == "namespaces" && len(parts) > 1 {
		switch {
		case len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize":
			t.namespace, t.blank, parts = parts[1], parts[1] == "", parts[2:]
		case !t.core:
			t.namespace = parts[1]
		} // else it is the namespace itself that is named
	}
	t.resource = parts[0]
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.subresource, t.deeper = parts[2], len(parts) > 3
	}
}

func (t *target) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: t.group, Version: t.version, Resource: t.resource}
}

func (t *target) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: t.group, Resource: t.resource}
}

// verb returns what the request asks for, in Kubernetes' words, except that list and watch are told apart only by the
// query.
func (t *target) verb(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead:
		if t.watch {
			return "watch"
		}
		if t.name == "" {
			return "list"
		}
		return "get"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if t.name == "" {
			return "deletecollection"
		}
		return "delete"
	default:
		return ""
	}
}
