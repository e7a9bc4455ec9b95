package embedded

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/codec"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/defaults"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// create stores a new object, given in face f, and returns its bytes in it.
func (t *tx) create(f face, namespace string, obj runtime.Object) ([]byte, error) {
	m := accessor(obj)
	if err := matchNamespace(f, namespace, m); err != nil {
		return nil, err
	}
	if rv := m.GetResourceVersion(); rv != "" && rv != "0" {
		return nil, internalError("resourceVersion should not be set on objects to be created")
	}
	stored, err := codec.Convert(obj, f.kind.Stored())
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	m = accessor(stored)
	wipe(m)
	if err := errors.Join(t.checkTerminating(f), t.checkNamespace(f, namespace, m)); err != nil {
		return nil, err
	}
	generated := m.GetName() == "" && m.GetGenerateName() != ""
	if generated {
		m.SetName(t.generateName(f, m))
	}
	prepareCreate(f, stored)
	if errs := f.validate(stored, nil); len(errs) > 0 {
		return nil, apierrors.NewInvalid(f.groupKind(), m.GetName(), errs)
	}
	if err := t.checkDefinition(f, stored, nil); err != nil {
		return nil, err
	}
	key := watchlog.KeyOf(m.GetNamespace(), m.GetName())
	if there := t.get(f.resource, key); there != nil {
		return nil, alreadyExists(f, there, generated)
	}
	return t.put(f.resource, key, stored, f.index)
}

// wipe sets what the cloud alone decides about a new object.
func wipe(m metav1.Object) {
	m.SetUID(uuid.NewUUID())
	m.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	m.SetResourceVersion("")
	m.SetGeneration(0)
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetSelfLink("")
	m.SetManagedFields(nil)
}

// matchNamespace gives an object the namespace of the request, or fails when it has another one.
func matchNamespace(f face, namespace string, m metav1.Object) error {
	switch {
	case !f.kind.Namespaced():
		m.SetNamespace("")
	case m.GetNamespace() == "":
		m.SetNamespace(namespace)
	case m.GetNamespace() != namespace:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// checkNamespace fails unless the namespace of a new object is there and stays.
func (t *tx) checkNamespace(f face, namespace string, m metav1.Object) error {
	if !f.kind.Namespaced() {
		return nil
	}
	obj, err := t.decoded(t.resources.namespaces, namespace)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if obj == nil {
		return apierrors.NewNotFound(t.resources.namespaces.kind.GroupResource(), namespace)
	}
	if accessor(obj).GetDeletionTimestamp() == nil {
		return nil
	}
	status := apierrors.NewForbidden(f.group(), m.GetName(), fmt.Errorf(
		"unable to create new content in namespace %s because it is being terminated", namespace))
	status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", namespace),
		Field:   "metadata.namespace",
	})
	return status
}

// generateName returns a free name that begins with the generateName of m. Like kube-apiserver it gives up after eight
// taken ones and returns the last.
func (t *tx) generateName(f face, m metav1.Object) string {
	const suffix, longest, tries = 5, 63, 8
	base := m.GetGenerateName()
	if len(base) > longest-suffix {
		base = base[:longest-suffix]
	}
	name := ""
	for range tries {
		name = base + rand.String(suffix)
		if t.get(f.resource, watchlog.KeyOf(m.GetNamespace(), name)) == nil {
			break
		}
	}
	return name
}

// prepareCreate fills in a new object in the stored face.
func prepareCreate(f face, obj runtime.Object) {
	if f.def().Status {
		setStatus(obj, nil)
	}
	initialize(obj)
	defaults.Set(obj)
	if f.kind.Generation {
		accessor(obj).SetGeneration(1)
	}
}

// validate returns what is wrong with the metadata of an object in the stored face, or with turning old into it. Of what
// else objects hold, only the promises of immutable ones are kept.
func (f face) validate(obj, old runtime.Object) field.ErrorList {
	path := field.NewPath("metadata")
	name := f.kind.Name
	if old != nil {
		errs := validation.ValidateObjectMetaAccessor(accessor(obj), f.kind.Namespaced(), anyName, path)
		for _, e := range validation.ValidateObjectMetaAccessorUpdate(accessor(obj), accessor(old), path) {
			if !slices.ContainsFunc(errs, func(known *field.Error) bool { return known.Error() == e.Error() }) {
				errs = append(errs, e)
			}
		}
		return append(errs, broken(obj, old)...)
	}
	return validation.ValidateObjectMetaAccessor(accessor(obj), f.kind.Namespaced(), name, path)
}

// anyName is the rule for names that were checked when the object was created.
func anyName(string, bool) []string { return nil }

func alreadyExists(f face, there *watchlog.Object, generated bool) error {
	if generated {
		return apierrors.NewGenerateNameConflict(f.group(), there.Name(), 1)
	}
	status := apierrors.NewAlreadyExists(f.group(), there.Name())
	if obj, err := codec.DecodeStored(f.kind.Stored(), there.JSON()); err == nil && accessor(obj).GetDeletionTimestamp() != nil {
		status.ErrStatus.Message = "object is being deleted: " + status.ErrStatus.Message
	}
	return status
}

// internalError returns the Status that kube-apiserver makes of an error it has no other code for.
func internalError(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message,
	}}
}

// asStatus returns err as the Status to answer with.
func asStatus(err error) metav1.Status {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status()
	}
	return apierrors.NewInternalError(err).ErrStatus
}
