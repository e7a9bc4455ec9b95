package litesrv

import (
	"fmt"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// fieldLabels returns a function that checks a field label of a selector on a resource, and resolves aliases. The texts
// of its errors, and whether metadata.namespace is known, depend on the type as in kube-apiserver: the
// AddFieldLabelConversionFunc calls of kubernetes pkg/apis, apimachinery pkg/runtime/conversion.go for types without
// one, apiextensions pkg/apiserver/conversion for custom resources.
func fieldLabels(r *watchlog.Resource) func(label, value string) (string, string, error) {
	return func(label, value string) (string, string, error) {
		if label == "spec.host" && r.Group == "" && r.Name == "pods" {
			label = "spec.nodeName"
		}
		if label == "metadata.name" || label == "metadata.namespace" && knowsNamespace(r) || r.FieldIndex(label) >= 0 {
			return label, value, nil
		}
		return "", "", unknownLabel(r, label)
	}
}

// ownLabels tells whether the type has a list of field labels of its own.
func ownLabels(r *watchlog.Resource) bool { return r.Custom || len(r.Fields) > 0 }

// knowsNamespace tells whether metadata.namespace may be selected by. Types without a list of their own know it even
// when they are cluster-scoped; one with such a list has forgotten it.
func knowsNamespace(r *watchlog.Resource) bool {
	if r.Group == "certificates.k8s.io" && r.Name == "podcertificaterequests" {
		return false
	}
	return r.Namespaced || !ownLabels(r)
}

func unknownLabel(r *watchlog.Resource, label string) error {
	switch {
	case !ownLabels(r):
		return fmt.Errorf(`%q is not a known field selector: only "metadata.name", "metadata.namespace"`, label)
	case r.Group == "batch" && r.Name == "jobs":
		return fmt.Errorf("field label %q not supported for Job", label)
	case r.Group == "resource.k8s.io" && r.Name == "resourceslices":
		return fmt.Errorf("field label not supported for %s, Kind=%s: %s", r.APIVersion(), r.Kind, label)
	default:
		return fmt.Errorf("field label not supported: %s", label)
	}
}
