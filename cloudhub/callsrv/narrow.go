package callsrv

import (
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
)

var errBeyondScope = status.Error(codes.FailedPrecondition, "the request can't be narrowed to the edge's scope")

// narrow makes a read of a resource one of what a scope covers. FAILED_PRECONDITION when one request can't say that.
func narrow(h *head, s scope.Scope) error {
	p, ok := parsePath(h.url.Path)
	if !ok || h.method != http.MethodGet && h.method != http.MethodHead || h.upgrade != "" {
		return errBeyondScope
	}
	sel, ok := s.Narrow(p.resource)
	if !ok {
		return errBeyondScope
	}
	if sel.Namespace != "" && sel.Namespace != p.namespace {
		return errBeyondScope // continue tokens of a namespace and of all don't mean the same
	}
	if p.name != "" && (sel.Labels != "" || sel.Fields != "") {
		return errBeyondScope
	}
	query, err := url.ParseQuery(h.url.RawQuery)
	if err != nil {
		return errBeyondScope
	}
	merge(query, "labelSelector", sel.Labels)
	merge(query, "fieldSelector", sel.Fields)
	h.url.RawQuery = query.Encode()
	return nil
}

// merge adds a condition to a selector of a query. Only the first one of a name counts, as in kube-apiserver.
func merge(query url.Values, name, condition string) {
	if condition == "" {
		return
	}
	if asked := query.Get(name); asked != "" {
		condition = asked + "," + condition
	}
	query.Set(name, condition)
}

// objectPath is what a path of the resource API names.
type objectPath struct {
	resource  schema.GroupResource
	namespace string
	name      string
}

// parsePath reads a path in its plainest form: no legacy prefixes, no subresources, nothing empty.
func parsePath(text string) (p objectPath, ok bool) {
	parts := strings.Split(strings.TrimPrefix(text, "/"), "/")
	for _, part := range parts {
		if part == "" {
			return p, false
		}
	}
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		p.resource.Group, parts = parts[1], parts[3:]
	default:
		return p, false
	}
	if len(parts) >= 3 && parts[0] == "namespaces" {
		p.namespace, parts = parts[1], parts[2:]
	}
	p.resource.Resource = parts[0]
	if len(parts) == 2 {
		p.name = parts[1]
	}
	return p, len(parts) <= 2
}
