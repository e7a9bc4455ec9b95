package watchlog

import "k8s.io/apimachinery/pkg/runtime/schema"

// Resource describes one Kubernetes resource as a log holds it.
type Resource struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Name    string `json:"name"` // the plural, "pods"

	Kind     string `json:"kind"`     // "Pod"
	ListKind string `json:"listKind"` // "PodList", as the API server spells it

	Namespaced bool `json:"namespaced"`
	// Custom is set for resources served from a CRD. Their JSON has sorted keys, the items of their lists carry
	// apiVersion and kind, and their list metadata always has "continue".
	Custom bool    `json:"custom"`
	Fields []Field `json:"fields,omitempty"`

	// Deprecated is what clients are warned of when they use the version; empty when it is not deprecated.
	Deprecated string `json:"deprecated,omitempty"`

	// Columns are the columns of the resource's table: the JSON of the columnDefinitions as the API server gave it. Empty
	// when it gives no tables of the resource.
	Columns string `json:"columns,omitempty"`
	// Printer names how the cells are made where Columns does not tell. Only the source and the view hash know it.
	Printer string `json:"-"`
}

// Field is a field label that selectors may use on a resource, beside metadata.name and metadata.namespace.
type Field struct {
	Label   string `json:"label"`             // as written in a fieldSelector, "spec.nodeName"
	Path    string `json:"path"`              // where the value stands in the JSON, dot separated
	Default string `json:"default,omitempty"` // the value when absent: "", "false" or "0"
	Indexed bool   `json:"indexed,omitempty"` // equality on it is served by an index
}

// GroupResource returns the resource without its version.
func (r *Resource) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Name}
}

// GroupVersionResource returns the resource with its version.
func (r *Resource) GroupVersionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Name}
}

// APIVersion returns the apiVersion of the resource's objects: "v1", "apps/v1".
func (r *Resource) APIVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

// FieldIndex returns the position of a field label in Fields, or -1.
func (r *Resource) FieldIndex(label string) int {
	for i := range r.Fields {
		if r.Fields[i].Label == label {
			return i
		}
	}
	return -1
}
