package catalog

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/printer"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// FromDefinition returns the kind that a valid CustomResourceDefinition declares.
func FromDefinition(d *Definition) *Kind {
	k := &Kind{
		Singular:       d.Spec.Names.Singular,
		ShortNames:     d.Spec.Names.ShortNames,
		Categories:     d.Spec.Names.Categories,
		Definition:     d.UID,
		DefinitionName: d.Name,
		Name:           validation.NameIsDNSSubdomain,
		Generation:     true,
		Locked:         true,
	}
	for i := range d.Spec.Versions {
		f := customFace(d, &d.Spec.Versions[i])
		if d.Spec.Versions[i].Storage {
			k.Faces = append([]*Face{f}, k.Faces...)
		} else {
			k.Faces = append(k.Faces, f)
		}
	}
	return k
}

func customFace(d *Definition, v *DefinitionVersion) *Face {
	f := &Face{
		Resource: watchlog.Resource{
			Group: d.Spec.Group, Version: v.Name, Name: d.Spec.Names.Plural,
			Kind: d.Spec.Names.Kind, ListKind: d.Spec.Names.ListKind,
			Namespaced: d.Spec.Scope == ScopeNamespaced, Custom: true, Fields: selectable(v.SelectableFields),
		},
		Served: v.Served, Columns: v.Columns,
	}
	f.Resource.Columns = f.Printer().Columns()
	f.Resource.Printer = printer.Name(v.Columns)
	switch {
	case !v.Deprecated:
	case v.DeprecationWarning != nil:
		f.Resource.Deprecated = *v.DeprecationWarning
	default:
		f.Resource.Deprecated = f.Resource.APIVersion() + " " + f.Resource.Kind + " is deprecated"
	}
	if v.Schema != nil {
		f.Schema = v.Schema.OpenAPIV3Schema
	}
	if s := v.Subresources; s != nil {
		f.Status = s.Status != nil
		f.Scale = customScale(s.Scale)
	}
	return f
}

// selectable returns the field labels of selectableFields: their paths without the leading dot.
func selectable(paths []SelectableField) []watchlog.Field {
	var fields []watchlog.Field
	for _, p := range paths {
		label := undot(p.JSONPath)
		fields = append(fields, watchlog.Field{Label: label, Path: label})
	}
	return fields
}

func customScale(s *SubresourceScale) *Scale {
	if s == nil {
		return nil
	}
	out := &Scale{Replicas: undot(s.SpecReplicasPath), StatusReplicas: undot(s.StatusReplicasPath)}
	if s.LabelSelectorPath != nil {
		out.Selector = undot(*s.LabelSelectorPath)
	}
	return out
}

func undot(path string) string { return strings.TrimPrefix(path, ".") }
