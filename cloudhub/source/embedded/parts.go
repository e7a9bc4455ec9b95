package embedded

import (
	"reflect"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// setStatus gives obj the status of from, which is of the same type; none if from is nil.
func setStatus(obj, from runtime.Object) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		field := statusField(obj)
		if from == nil {
			field.SetZero()
		} else {
			field.Set(statusField(from))
		}
		return
	}
	delete(u.Object, "status")
	if from != nil {
		if v, ok := from.(*unstructured.Unstructured).Object["status"]; ok {
			u.Object["status"] = v
		}
	}
}

// statusField returns the field Status of an object of a kind that has a status subresource.
func statusField(obj runtime.Object) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName("Status")
}

// sameRequest tells whether two objects of one type ask for the same: whether they are equal but for their metadata and,
// unless it is an ordinary field of theirs, their status.
func sameRequest(a, b runtime.Object, hasStatus bool) bool {
	x, ok := a.(*unstructured.Unstructured)
	if !ok {
		return sameFields(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
	}
	return apiequality.Semantic.DeepEqual(asked(x, hasStatus), asked(b.(*unstructured.Unstructured), hasStatus))
}

func sameFields(a, b reflect.Value) bool {
	for i := range a.NumField() {
		switch a.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
			continue
		}
		if !apiequality.Semantic.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			return false
		}
	}
	return true
}

// asked returns what a custom resource asks for.
func asked(u *unstructured.Unstructured, hasStatus bool) map[string]any {
	m := make(map[string]any, len(u.Object))
	for k, v := range u.Object {
		switch k {
		case "apiVersion", "kind", "metadata":
		case "status":
			if !hasStatus {
				m[k] = v
			}
		default:
			m[k] = v
		}
	}
	return m
}
