package codec

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
)

// Encode returns the JSON of an object as kube-apiserver would send it, without the trailing newline: built-in kinds
// begin with kind and apiVersion and follow their Go type, custom resources have sorted keys, and HTML is escaped.
func Encode(f *catalog.Face, obj runtime.Object) ([]byte, error) {
	var v any = obj
	if u, ok := obj.(*unstructured.Unstructured); ok {
		v = u.Object
	} else {
		obj.GetObjectKind().SetGroupVersionKind(f.GVK())
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", f.Resource.GroupResource(), err)
	}
	return raw, nil
}

// Convert returns an object of one face of a kind as another face of it has it. The result may share parts with obj.
// Versions of custom resources differ in their apiVersion alone (the conversion strategy None).
func Convert(obj runtime.Object, to *catalog.Face) (runtime.Object, error) {
	if obj.GetObjectKind().GroupVersionKind() == to.GVK() {
		return obj, nil
	}
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		c := &unstructured.Unstructured{Object: make(map[string]any, len(o.Object))}
		for k, v := range o.Object {
			c.Object[k] = v
		}
		c.SetAPIVersion(to.Resource.APIVersion())
		return c, nil
	case *corev1.Event:
		return catalog.EventFromCore(o), nil
	case *eventsv1.Event:
		return catalog.EventToCore(o), nil
	default:
		return nil, fmt.Errorf("%T has no version %s", obj, to.Resource.APIVersion())
	}
}
