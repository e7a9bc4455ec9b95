package embedded

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// broken returns the fields in which obj differs from old although old said that they stay (kubernetes
// pkg/apis/core/validation, ValidateConfigMapUpdate and ValidateSecretUpdate). What reads them relies on it: a kubelet
// never looks at an immutable ConfigMap or Secret again.
func broken(obj, old runtime.Object) field.ErrorList {
	switch was := old.(type) {
	case *corev1.ConfigMap:
		is := obj.(*corev1.ConfigMap)
		return changed(was.Immutable, is.Immutable, []part{{"data", was.Data, is.Data}, {"binaryData", was.BinaryData, is.BinaryData}})
	case *corev1.Secret:
		is := obj.(*corev1.Secret)
		errs := validation.ValidateImmutableField(is.Type, was.Type, field.NewPath("type"))
		return append(errs, changed(was.Immutable, is.Immutable, []part{{"data", was.Data, is.Data}})...)
	}
	return nil
}

// part is a field before and after an update.
type part struct {
	name    string
	was, is any
}

func changed(was, is *bool, parts []part) field.ErrorList {
	if was == nil || !*was {
		return nil
	}
	var errs field.ErrorList
	if is == nil || !*is {
		errs = append(errs, forbidden("immutable"))
	}
	for _, p := range parts {
		if !reflect.DeepEqual(p.was, p.is) {
			errs = append(errs, forbidden(p.name))
		}
	}
	return errs
}

func forbidden(name string) *field.Error {
	return field.Forbidden(field.NewPath(name), "field is immutable when `immutable` is set")
}
