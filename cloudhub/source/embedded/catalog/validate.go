package catalog

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

// The scopes of a custom kind.
const (
	ScopeNamespaced = "Namespaced"
	ScopeCluster    = "Cluster"
)

// SetDefaults fills in what the author of a definition left to the cloud.
func (d *Definition) SetDefaults() {
	n := &d.Spec.Names
	if n.Singular == "" {
		n.Singular = strings.ToLower(n.Kind)
	}
	if n.ListKind == "" && n.Kind != "" {
		n.ListKind = n.Kind + "List"
	}
	if d.Spec.Conversion == nil {
		d.Spec.Conversion = &Conversion{Strategy: "None"}
	}
}

// Validate returns what is wrong with the definition beside its other metadata, in the words of kube-apiserver. Schemas are not looked into.
func (d *Definition) Validate() field.ErrorList {
	p := field.NewPath("spec")
	errs := d.validateGroup(p.Child("group"))
	errs = append(errs, d.validateNames(p.Child("names"))...)
	if d.Spec.Scope != ScopeNamespaced && d.Spec.Scope != ScopeCluster {
		errs = append(errs, field.NotSupported(p.Child("scope"), d.Spec.Scope, []string{ScopeCluster, ScopeNamespaced}))
	}
	errs = append(errs, d.validateVersions(p.Child("versions"))...)
	if c := d.Spec.Conversion; c != nil && c.Strategy != "None" {
		errs = append(errs, field.NotSupported(p.Child("conversion", "strategy"), c.Strategy, []string{"None"}))
	}
	if d.Name != d.Spec.Names.Plural+"."+d.Spec.Group {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), d.Name, `must be spec.names.plural+"."+spec.group`))
	}
	return errs
}

// ValidateUpdate returns what is wrong with turning old into d.
func (d *Definition) ValidateUpdate(old *Definition) field.ErrorList {
	p := field.NewPath("spec")
	errs := validation.ValidateImmutableField(d.Spec.Group, old.Spec.Group, p.Child("group"))
	errs = append(errs, validation.ValidateImmutableField(d.Spec.Scope, old.Spec.Scope, p.Child("scope"))...)
	errs = append(errs, validation.ValidateImmutableField(d.Spec.Names.Plural, old.Spec.Names.Plural, p.Child("names", "plural"))...)
	errs = append(errs, validation.ValidateImmutableField(d.Spec.Names.Kind, old.Spec.Names.Kind, p.Child("names", "kind"))...)
	for i, v := range old.Status.StoredVersions {
		if !slices.ContainsFunc(d.Spec.Versions, func(x DefinitionVersion) bool { return x.Name == v }) {
			errs = append(errs, field.Invalid(field.NewPath("status", "storedVersions").Index(i), v, fmt.Sprintf(
				"missing from spec.versions; %[1]s was previously a storage version, and must remain in spec.versions until a "+
					"storage migration ensures no data remains persisted in %[1]s and removes %[1]s from status.storedVersions", v)))
		}
	}
	return errs
}

func (d *Definition) validateGroup(p *field.Path) field.ErrorList {
	g := d.Spec.Group
	switch {
	case g == "":
		return field.ErrorList{field.Required(p, "")}
	case len(utilvalidation.IsDNS1123Subdomain(g)) > 0:
		return field.ErrorList{field.Invalid(p, g, strings.Join(utilvalidation.IsDNS1123Subdomain(g), ","))}
	case !strings.Contains(g, "."):
		return field.ErrorList{field.Invalid(p, g, "should be a domain with at least one dot")}
	case slices.Contains(GroupOrder(), g):
		return field.ErrorList{field.Invalid(p, g, "is a built-in group")}
	}
	return nil
}

func (d *Definition) validateNames(p *field.Path) field.ErrorList {
	n := &d.Spec.Names
	var errs field.ErrorList
	for _, f := range []struct {
		path, value string
		lower       bool
	}{{"plural", n.Plural, true}, {"singular", n.Singular, true}, {"kind", n.Kind, false}, {"listKind", n.ListKind, false}} {
		errs = append(errs, validateName(p.Child(f.path), f.value, f.lower)...)
	}
	for i, s := range n.ShortNames {
		errs = append(errs, validateName(p.Child("shortNames").Index(i), s, true)...)
	}
	for i, c := range n.Categories {
		errs = append(errs, validateName(p.Child("categories").Index(i), c, true)...)
	}
	if n.Kind != "" && n.Kind == n.ListKind {
		errs = append(errs, field.Invalid(p.Child("listKind"), n.ListKind, "kind and listKind may not be the same"))
	}
	return errs
}

// validateName holds one of a definition's names to the rule for DNS labels; kinds may have upper case letters.
func validateName(p *field.Path, name string, lower bool) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	rule := name
	if !lower {
		rule = strings.ToLower(name)
	}
	if msgs := utilvalidation.IsDNS1035Label(rule); len(msgs) > 0 {
		return field.ErrorList{field.Invalid(p, name, strings.Join(msgs, ","))}
	}
	return nil
}

func (d *Definition) validateVersions(p *field.Path) field.ErrorList {
	var errs field.ErrorList
	stored := 0
	seen := map[string]bool{}
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		at := p.Index(i)
		if msgs := utilvalidation.IsDNS1035Label(v.Name); len(msgs) > 0 {
			errs = append(errs, field.Invalid(at.Child("name"), v.Name, strings.Join(msgs, ",")))
		}
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			errs = append(errs, field.Required(at.Child("schema", "openAPIV3Schema"), ""))
		}
		errs = append(errs, v.validatePaths(at)...)
		if v.Storage {
			stored++
		}
		if seen[v.Name] {
			errs = append(errs, field.Invalid(p, d.versionNames(), "must contain unique version names"))
		}
		seen[v.Name] = true
	}
	if stored != 1 {
		errs = append(errs, field.Invalid(p, d.versionNames(), "must have exactly one version marked as storage version"))
	}
	return errs
}

func (d *Definition) versionNames() []string {
	var names []string
	for i := range d.Spec.Versions {
		names = append(names, d.Spec.Versions[i].Name)
	}
	return names
}

// validatePaths holds the JSON paths of a version to what the embedded cloud can follow: plain fields.
func (v *DefinitionVersion) validatePaths(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, f := range v.SelectableFields {
		errs = append(errs, validatePath(at.Child("selectableFields").Index(i).Child("jsonPath"), f.JSONPath, "")...)
	}
	if v.Subresources == nil || v.Subresources.Scale == nil {
		return errs
	}
	s, p := v.Subresources.Scale, at.Child("subresources", "scale")
	errs = append(errs, validatePath(p.Child("specReplicasPath"), s.SpecReplicasPath, ".spec.")...)
	errs = append(errs, validatePath(p.Child("statusReplicasPath"), s.StatusReplicasPath, ".status.")...)
	if s.LabelSelectorPath != nil && *s.LabelSelectorPath != "" {
		errs = append(errs, validatePath(p.Child("labelSelectorPath"), *s.LabelSelectorPath, ".")...)
	}
	return errs
}

func validatePath(p *field.Path, path, under string) field.ErrorList {
	switch {
	case path == "":
		return field.ErrorList{field.Required(p, "")}
	case !strings.HasPrefix(path, ".") || strings.ContainsAny(path, "[]'\"@*") || strings.Contains(path, ".."):
		return field.ErrorList{field.Invalid(p, path, "should be a simple json path in dot notation")}
	case !strings.HasPrefix(path, under):
		return field.ErrorList{field.Invalid(p, path, "should be a json path under "+strings.TrimSuffix(under, "."))}
	}
	return nil
}
