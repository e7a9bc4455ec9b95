package embedded

import (
	"fmt"
	"maps"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/codec"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/defaults"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// edit returns an object after a change, in the same face; raw is the JSON of the object as it is.
type edit func(raw []byte) (runtime.Object, error)

// place says which object, and which part of it, a request is about.
type place struct {
	face            face
	namespace, name string
	sub             string // subresource, "" for the object itself
}

func (p place) key() string { return watchlog.KeyOf(p.namespace, p.name) }

func (p place) notFound() error { return apierrors.NewNotFound(p.face.group(), p.name) }

// update changes an object that exists and returns its bytes in the face of p.
func (t *tx) update(p place, change edit) ([]byte, error) {
	f := p.face
	there := t.faces(f.resource, p.key())
	if there == nil {
		return nil, p.notFound()
	}
	old, err := codec.DecodeStored(f.kind.Stored(), there[0].JSON())
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	shown, err := change(there[f.index].JSON())
	if err != nil {
		return nil, err
	}
	if err := p.matches(accessor(shown)); err != nil {
		return nil, err
	}
	obj, err := codec.Convert(shown, f.kind.Stored())
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if err := p.checkVersion(accessor(obj), accessor(old)); err != nil {
		return nil, err
	}
	return t.replace(p, obj, old)
}

// replace makes obj, in the stored face and checked to be meant for this place, of old.
func (t *tx) replace(p place, obj, old runtime.Object) ([]byte, error) {
	f := p.face
	obj = restrict(p, obj, old)
	keepMetadata(accessor(obj), accessor(old))
	defaults.Set(obj)
	f.count(obj, old)
	if errs := f.validate(obj, old); len(errs) > 0 {
		return nil, apierrors.NewInvalid(f.groupKind(), p.name, errs)
	}
	if err := t.checkDefinition(f, obj, old); err != nil {
		return nil, err
	}
	if t.finished(f, obj, old) {
		raw, err := encodeAs(obj, f.resource, f.index)
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		t.remove(f.resource, p.key(), f.index)
		return raw, nil
	}
	return t.put(f.resource, p.key(), obj, f.index)
}

// matches holds the name and namespace of a changed object against the request's.
func (p place) matches(m metav1.Object) error {
	if err := matchNamespace(p.face, p.namespace, m); err != nil {
		return err
	}
	if m.GetName() == "" {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s based on URL) was undeterminable: name must be provided", p.name))
	}
	if m.GetName() != p.name {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s) does not match the name on the URL (%s)", m.GetName(), p.name))
	}
	return nil
}

// checkVersion compares the resourceVersion that a change is based on with the object's. Without one the change is
// unconditional, which some kinds refuse.
func (p place) checkVersion(m, old metav1.Object) error {
	rev := uint64(0)
	if rv := m.GetResourceVersion(); rv != "" {
		var err error
		if rev, err = strconv.ParseUint(rv, 10, 64); err != nil {
			return internalError(err.Error())
		}
	}
	switch {
	case rev == 0 && p.face.kind.Locked:
		return apierrors.NewInvalid(
			schema.GroupKind{Group: p.face.group().Group, Kind: p.face.group().Resource}, p.name,
			field.ErrorList{field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
	case rev == 0:
		m.SetResourceVersion(old.GetResourceVersion())
	case m.GetResourceVersion() != old.GetResourceVersion():
		return modified(p)
	}
	return nil
}

func modified(p place) error {
	return apierrors.NewConflict(p.face.group(), p.name, fmt.Errorf(
		"the object has been modified; please apply your changes to the latest version and try again"))
}

// checkUID fails when a PUT names the uid of an object that is not the one there.
func (p place) checkUID(given types.UID, there *watchlog.Object) error {
	if given == "" || string(given) == there.UID() {
		return nil
	}
	return apierrors.NewConflict(p.face.group(), p.name, fmt.Errorf(
		"precondition failed: UID in precondition: %s, UID in object meta: %s", given, there.UID()))
}

// restrict returns what of obj a request may change; the rest is as in old.
func restrict(p place, obj, old runtime.Object) runtime.Object {
	switch p.sub {
	case "status", "approval":
		return onlyStatus(obj, old)
	case "finalize":
		return onlyFinalizers(obj, old)
	}
	if p.face.def().Status {
		setStatus(obj, old)
	}
	return obj
}

// onlyStatus returns old with the status of obj, and for a built-in kind with its labels, annotations and finalizers.
func onlyStatus(obj, old runtime.Object) runtime.Object {
	out := old.DeepCopyObject()
	setStatus(out, obj)
	if _, custom := obj.(*unstructured.Unstructured); !custom {
		from, to := accessor(obj), accessor(out)
		to.SetLabels(from.GetLabels())
		to.SetAnnotations(from.GetAnnotations())
		to.SetFinalizers(from.GetFinalizers())
		if uid := from.GetUID(); uid != "" {
			to.SetUID(uid)
		}
	}
	return out
}

// keepMetadata gives obj the metadata that no update changes. A deletion is left as it is given for an object that isn't
// being deleted, as is a grace period: validate refuses them (apiserver pkg/registry/rest/update.go, BeforeUpdate).
func keepMetadata(m, old metav1.Object) {
	m.SetGeneration(old.GetGeneration())
	if m.GetUID() == "" {
		m.SetUID(old.GetUID())
	}
	m.SetCreationTimestamp(old.GetCreationTimestamp())
	if old.GetDeletionTimestamp() != nil {
		m.SetDeletionTimestamp(old.GetDeletionTimestamp())
	}
	if m.GetDeletionGracePeriodSeconds() == nil {
		m.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
	m.SetSelfLink("")
	m.SetManagedFields(nil)
}

// count counts on the generation when an object asks for something else than before.
func (f face) count(obj, old runtime.Object) {
	if !f.kind.Generation {
		return
	}
	same := sameRequest(obj, old, f.def().Status)
	switch f.kind.Stored().Resource.Kind {
	case "Deployment": // whose annotations are copied to its replica sets
		same = same && maps.Equal(accessor(obj).GetAnnotations(), accessor(old).GetAnnotations())
	case "EndpointSlice": // whose labels say which service it is of
		same = same && maps.Equal(accessor(obj).GetLabels(), accessor(old).GetLabels())
	}
	if !same {
		accessor(obj).SetGeneration(accessor(old).GetGeneration() + 1)
	}
}
