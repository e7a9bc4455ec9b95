// Package catalog describes the kinds of object that the embedded cloud stores: the built-in ones of Kubernetes 1.37,
// from a table, and custom ones, from their CustomResourceDefinitions.
package catalog

import (
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/printer"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Kind is one kind of object: what is stored once, and the faces in which it is served. It is immutable.
type Kind struct {
	// Faces are the groups and versions of the kind. The first is the one that is stored; there is always one.
	Faces []*Face

	Singular   string
	ShortNames []string
	Categories []string

	// Definition is the uid of the CustomResourceDefinition that declares the kind, "" for a built-in one.
	Definition types.UID
	// DefinitionName is the name of that CustomResourceDefinition.
	DefinitionName string

	// Name checks the name of an object, or the prefix of a generated one.
	Name validation.ValidateNameFunc
	// Generation is set when objects have a metadata.generation that counts changes of what is asked for.
	Generation bool
	// Returned is set when a DELETE answers with the object instead of a Status.
	Returned bool
	// Upsert is set when a PUT of an object that doesn't exist creates it.
	Upsert bool
	// Locked is set when a PUT without a resourceVersion is refused instead of being unconditional.
	Locked bool
	// Single is set when the kind has no DELETE of a collection.
	Single bool
}

// Face is one group and version in which a kind is served. It is immutable.
type Face struct {
	Resource watchlog.Resource
	// Served is false for a version that is only stored.
	Served bool
	// Status is set when the face has a status subresource, which is then the only way to write the status.
	Status bool
	// Scale is how the scale subresource maps to the object; nil without one.
	Scale *Scale
	// Others are further subresources that can be read and updated: parts of the object under rules of their own.
	Others []string
	// Columns are the printer columns of a custom resource.
	Columns []printer.Column
	// Schema is the OpenAPI v3 schema of a custom resource; nil when unknown.
	Schema map[string]any
}

// Scale says where in an object the scale subresource finds its parts. Paths are dot separated, without a leading dot.
type Scale struct {
	Replicas       string // spec.replicas
	StatusReplicas string // status.replicas
	// Selector is the path of a selector: a string in a custom resource, a LabelSelector or a map in a built-in one. ""
	// when there is none.
	Selector string
}

// Stored returns the face that is stored.
func (k *Kind) Stored() *Face { return k.Faces[0] }

// GroupResource returns the kind's resource as it is stored.
func (k *Kind) GroupResource() schema.GroupResource { return k.Stored().Resource.GroupResource() }

// Custom tells whether the kind is declared by a CustomResourceDefinition.
func (k *Kind) Custom() bool { return k.Definition != "" }

// Namespaced tells whether objects of the kind live in namespaces.
func (k *Kind) Namespaced() bool { return k.Stored().Resource.Namespaced }

// Printer returns what prints the face's objects.
func (f *Face) Printer() *printer.Printer {
	if f.Resource.Custom {
		return printer.Custom(f.Columns)
	}
	return printer.For(&f.Resource)
}

// GVK returns the group, version and kind of the face's objects.
func (f *Face) GVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: f.Resource.Group, Version: f.Resource.Version, Kind: f.Resource.Kind}
}

// Updatable tells whether sub is a subresource that reads and updates a part of the object itself.
func (f *Face) Updatable(sub string) bool {
	if sub == "status" {
		return f.Status
	}
	for _, o := range f.Others {
		if o == sub {
			return true
		}
	}
	return false
}

// Subresources returns the names of all subresources, sorted.
func (f *Face) Subresources() []string {
	var subs []string
	subs = append(subs, f.Others...) // all of them sort before scale and status
	if f.Scale != nil {
		subs = append(subs, "scale")
	}
	if f.Status {
		subs = append(subs, "status")
	}
	return subs
}
