package litesrv

import (
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// inScope tells whether the path has a namespace where the resource needs one, and none where it has none. Lists and
// watches of a namespaced resource may be over all namespaces.
func inScope(t target, verb string, namespaced, custom bool) bool {
	switch {
	case t.blank && !custom:
		return namespaced && t.subresource == ""
	case !namespaced:
		return t.namespace == "" && (t.name != "" || t.subresource == "")
	case t.namespace != "":
		return t.name != "" || t.subresource == ""
	case t.name != "" || t.subresource != "":
		return false
	default:
		return !custom || verb == "list" || verb == "watch"
	}
}

// methodAllowed tells whether there is a route for a method on the path of a collection or object. Custom resources
// have no routes: only methods that mean nothing are refused.
func methodAllowed(t target, method string, namespaced, custom bool) bool {
	if custom {
		return t.verb(method) != ""
	}
	switch {
	case method == http.MethodGet:
		return true
	case t.watch:
		return false
	case t.name != "":
		return method == http.MethodPut || method == http.MethodPatch || method == http.MethodDelete
	case namespaced && t.namespace == "":
		return false
	default:
		return method == http.MethodPost || method == http.MethodDelete
	}
}

// refuseMethod is the answer when it is not.
func refuseMethod(t target, verb string, custom bool) error {
	if custom {
		return apierrors.NewMethodNotSupported(t.groupResource(), verb)
	}
	return notAllowed()
}

// has tells whether discovery lists a verb.
func (k *kind) has(verb string) bool { return slices.Contains(k.verbs, verb) }

func (k *kind) hasSubresource(name string) bool { return k.subresources[name] != nil }

// readsSubresource tells whether discovery says that a subresource can be read.
func (k *kind) readsSubresource(name string) bool {
	return slices.Contains(k.subresources[name], "get")
}
