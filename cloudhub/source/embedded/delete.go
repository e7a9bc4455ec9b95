package embedded

import (
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/codec"
)

// delete deletes an object, or marks it when finalizers hold it. It returns the object's bytes in the face of p when it
// is still there or its kind answers with it, else a Status.
func (t *tx) delete(p place, preconditions *metav1.Preconditions) ([]byte, *metav1.Status, error) {
	f := p.face
	obj, err := t.decoded(f.resource, p.key())
	if err != nil {
		return nil, nil, apierrors.NewInternalError(err)
	}
	if obj == nil {
		return nil, nil, p.notFound()
	}
	m := accessor(obj)
	if err := p.checkPreconditions(preconditions, m); err != nil {
		return nil, nil, err
	}
	switch f.resource {
	case t.resources.namespaces:
		raw, err := t.deleteNamespace(p, obj)
		return raw, nil, err
	case t.resources.definitions:
		raw, err := t.deleteDefinition(p, obj)
		return raw, nil, err
	}
	if len(m.GetFinalizers()) > 0 {
		raw, err := t.mark(p, obj)
		return raw, nil, err
	}
	raw := t.remove(f.resource, p.key(), f.index)
	if f.kind.Returned {
		return raw, nil, nil
	}
	return nil, deleted(p, m), nil
}

// mark says that an object is to be deleted when its finalizers are gone.
func (t *tx) mark(p place, obj runtime.Object) ([]byte, error) {
	m := accessor(obj)
	if m.GetDeletionTimestamp() == nil {
		now := metav1.Now().Rfc3339Copy()
		m.SetDeletionTimestamp(&now)
		if m.GetGeneration() > 0 {
			m.SetGeneration(m.GetGeneration() + 1)
		}
	}
	m.SetDeletionGracePeriodSeconds(new(int64))
	return t.put(p.face.resource, p.key(), obj, p.face.index)
}

// finished tells whether an update took away the last that held an object which is to be deleted.
func (t *tx) finished(f face, obj, old runtime.Object) bool {
	if accessor(old).GetDeletionTimestamp() == nil {
		return false
	}
	held := len(accessor(obj).GetFinalizers()) > 0
	switch f.resource {
	case t.resources.namespaces:
		return !held && t.vacant(accessor(obj).GetName())
	case t.resources.definitions:
		return t.abandoned(obj)
	default:
		return !held
	}
}

func deleted(p place, m metav1.Object) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{
		Name: m.GetName(), Group: p.face.group().Group, Kind: p.face.group().Resource, UID: m.GetUID(),
	}}
}

func (p place) checkPreconditions(c *metav1.Preconditions, m metav1.Object) error {
	if c == nil {
		return nil
	}
	group := p.face.group().Group
	if c.UID != nil && *c.UID != m.GetUID() {
		return apierrors.NewConflict(schema.GroupResource{Group: group, Resource: p.face.def().Resource.Kind}, p.name, fmt.Errorf(
			"the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and "+
				"then recreated", *c.UID, m.GetUID()))
	}
	if c.ResourceVersion != nil && *c.ResourceVersion != m.GetResourceVersion() {
		return apierrors.NewConflict(schema.GroupResource{Group: group, Resource: p.face.def().Resource.Kind}, p.name, fmt.Errorf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might "+
				"have been modified", *c.ResourceVersion, m.GetResourceVersion()))
	}
	return nil
}

// deleteEach deletes or marks the objects of a resource with these keys.
func (t *tx) deleteEach(r *resource, keys []string) error {
	for _, key := range keys {
		o := t.get(r, key)
		obj, err := codec.DecodeStored(r.kind.Stored(), o.JSON())
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		if len(accessor(obj).GetFinalizers()) == 0 {
			t.remove(r, key, 0)
			continue
		}
		p := place{face: face{r, 0}, namespace: o.Namespace(), name: o.Name()}
		if _, err := t.mark(p, obj); err != nil {
			return apierrors.NewInternalError(err)
		}
	}
	return nil
}

// settle deletes what the deletions behind mark have left empty: a terminating namespace or CustomResourceDefinition
// without its last object.
func (t *tx) settle(mark int) error {
	namespaces, definitions := map[string]bool{}, map[string]bool{}
	for _, ch := range t.changes[mark:] {
		if ch.after == nil {
			namespaces[ch.before[0].Namespace()] = true
			definitions[ch.resource.kind.DefinitionName] = true
		}
	}
	delete(namespaces, "")
	delete(definitions, "")
	for _, name := range slices.Sorted(maps.Keys(namespaces)) {
		if err := t.settleNamespace(name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		if err := t.settleDefinition(name); err != nil {
			return err
		}
	}
	return nil
}
