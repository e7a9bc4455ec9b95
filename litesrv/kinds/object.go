package kinds

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// object is an object of a built-in kind.
type object interface {
	metav1.ObjectMetaAccessor
	// Size and MarshalToSizedBuffer are of the generated code: the size in bytes, and writing that many.
	Size() int
	MarshalToSizedBuffer(data []byte) (int, error)
}
