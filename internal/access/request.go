package access

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/fields"
)

// Request is what a request asks for.
type Request struct {
	User *User
	// Verb is one of Kubernetes' for resources, and the method in lower case for other paths.
	Verb string
	// Path is that of the URL.
	Path string
	// Resource is empty for paths that are not of resources, and so is what follows.
	Resource, Subresource, Group, Namespace, Name string
}

// OfResource tells whether the request is for a resource.
func (r *Request) OfResource() bool { return r.Resource != "" }

// ReadOnly tells whether the request is for nothing but a look.
func (r *Request) ReadOnly() bool {
	switch r.Verb {
	case "get", "list", "watch", "head":
		return true
	}
	return false
}

// Parse returns what a request asks for, without its user. It is apiserver pkg/endpoints/request/requestinfo.go.
func Parse(r *http.Request) Request {
	out := Request{Verb: strings.ToLower(r.Method), Path: r.URL.Path}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		out.Group, parts = parts[1], parts[3:]
	default:
		return out
	}
	out.Verb = verbOf(r.Method)
	if parts[0] == "watch" {
		out.Verb, parts = "watch", parts[1:]
	}
	out.takeNames(parts)
	if out.Name == "" && out.Verb == "get" {
		out.list(r)
	}
	if out.Name == "" && out.Verb == "delete" {
		out.Verb = "deletecollection"
	}
	return out
}

func verbOf(method string) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodGet, http.MethodHead:
		return "get"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return ""
}

// takeNames reads what follows the version, and the legacy prefix. A namespace is in itself.
func (r *Request) takeNames(parts []string) {
	if len(parts) > 1 && parts[0] == "namespaces" {
		r.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	if len(parts) > 0 {
		r.Resource = parts[0]
	}
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	if len(parts) > 2 {
		r.Subresource = parts[2]
	}
}

// list tells a list from a watch, and takes the name of one that a selector asks for.
func (r *Request) list(from *http.Request) {
	r.Verb = "list"
	if from.URL.RawQuery == "" {
		return
	}
	query := from.URL.Query()
	if v := query["watch"]; len(v) > 0 && v[0] != "0" && !strings.EqualFold(v[0], "false") {
		r.Verb = "watch"
	}
	if !decodes(query) {
		return
	}
	selector, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return
	}
	if name, ok := selector.RequiresExactMatch("metadata.name"); ok && len(content.IsPathSegmentName(name)) == 0 {
		r.Name = name
	}
}

// numbers are the list options that have to be numbers; else upstream takes none of a query's options.
var numbers = []string{"limit", "timeoutSeconds"}

func decodes(query map[string][]string) bool {
	return !slices.ContainsFunc(numbers, func(name string) bool {
		v := query[name]
		if len(v) == 0 || v[0] == "" {
			return false
		}
		_, err := strconv.ParseInt(v[0], 10, 64)
		return err != nil
	})
}
