package codec

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

// coerceMetadata makes the metadata of a custom resource that of any Kubernetes object: fields that ObjectMeta doesn't
// have are dropped and returned as violations; values of a wrong type are an error.
func coerceMetadata(u *unstructured.Unstructured) (violations []error, err error) {
	raw, err := json.Marshal(u.Object["metadata"])
	if err != nil {
		return nil, err
	}
	var meta metav1.ObjectMeta
	violations, err = kjson.UnmarshalStrict(raw, &meta)
	if err != nil {
		return nil, err
	}
	clean, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&meta)
	if err != nil {
		return nil, err
	}
	u.Object["metadata"] = clean
	return underMetadata(violations), nil
}

// underMetadata moves the fields that strict errors name under metadata.
func underMetadata(errs []error) []error {
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
