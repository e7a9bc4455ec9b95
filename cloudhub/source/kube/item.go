package kube

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// item is an object on its way through client-go's reflector, which asks for its name, namespace and resourceVersion
// only. It is immutable.
type item struct {
	*metav1.ObjectMeta // nothing: what the reflector has no use for reads as empty
	object             *watchlog.Object
}

// nothing is shared by all items and never written.
var nothing = &metav1.ObjectMeta{}

var (
	_ metav1.Object  = item{}
	_ runtime.Object = item{}
)

func newItem(o *watchlog.Object) item { return item{nothing, o} }

// GetName returns the object's name.
func (i item) GetName() string { return i.object.Name() }

// GetNamespace returns the object's namespace.
func (i item) GetNamespace() string { return i.object.Namespace() }

// GetUID returns the object's UID.
func (i item) GetUID() types.UID { return types.UID(i.object.UID()) }

// GetResourceVersion returns the object's resourceVersion.
func (i item) GetResourceVersion() string { return formatRev(i.object.Rev()) }

// GetObjectKind returns no kind; the reflector expects none.
func (i item) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the item itself, as it never changes.
func (i item) DeepCopyObject() runtime.Object { return i }

// itemObject returns the object in what a reflector gives its store.
func itemObject(obj any) (*watchlog.Object, error) {
	i, ok := obj.(item)
	if !ok {
		return nil, fmt.Errorf("reflector handed over a %T", obj)
	}
	return i.object, nil
}
