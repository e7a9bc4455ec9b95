package codec

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// coerceMetadata makes the metadata of a custom resource that of any Kubernetes object: fields that ObjectMeta doesn't
// have are dropped, with a warning each unless validation says otherwise; values of a wrong type are an error.
func coerceMetadata(u *unstructured.Unstructured, validation string) ([]string, error) {
	raw, ok := u.Object["metadata"]
	if !ok || raw == nil {
		u.Object["metadata"] = map[string]any{}
		return nil, nil
	}
	m, ok := raw.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("metadata is a %T, not an object", raw)
	}
	var meta metav1.ObjectMeta
	strict := validation != metav1.FieldValidationIgnore
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(m, &meta, strict)
	var warnings []string
	if s, ok := runtime.AsStrictDecodingError(err); ok && validation != metav1.FieldValidationStrict {
		warnings, err = underMetadata(s.Errors()), nil
	} else if ok {
		err = runtime.NewStrictDecodingError(prefixed(s.Errors()))
	}
	if err != nil {
		return nil, err
	}
	clean, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&meta)
	if err != nil {
		return nil, err
	}
	u.Object["metadata"] = clean
	return warnings, nil
}

func underMetadata(errs []error) []string { return strictWarnings(prefixed(errs)) }

// prefixed moves the fields that strict errors name under metadata.
func prefixed(errs []error) []error {
	out := make([]error, len(errs))
	for i, err := range errs {
		var field string
		if _, scanErr := fmt.Sscanf(err.Error(), "unknown field %q", &field); scanErr == nil {
			err = fmt.Errorf("unknown field %q", "metadata."+field)
		}
		out[i] = err
	}
	return out
}
