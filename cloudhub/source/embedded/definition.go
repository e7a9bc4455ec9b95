package embedded

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
)

// cleanup is the finalizer of a CustomResourceDefinition that waits for its objects to go.
const cleanup = "customresourcecleanup.apiextensions.k8s.io"

// checkDefinition validates a CustomResourceDefinition and writes what the cloud makes of it into its status. It does
// nothing to objects of other kinds. old is nil for a new one.
func (t *tx) checkDefinition(f face, obj, old runtime.Object) error {
	d, ok := obj.(*catalog.Definition)
	if !ok {
		return nil
	}
	errs := d.Validate()
	if old != nil {
		errs = append(errs, d.ValidateUpdate(old.(*catalog.Definition))...)
	}
	errs = append(errs, t.taken(d)...)
	if len(errs) > 0 {
		return apierrors.NewInvalid(f.groupKind(), d.Name, errs)
	}
	establish(d)
	return nil
}

// taken returns which names of a definition another one of its group has.
func (t *tx) taken(d *catalog.Definition) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("spec", "names")
	for _, r := range t.resources.all {
		s := r.kind.Stored()
		if !r.kind.Custom() || r.kind.DefinitionName == d.Name || s.Resource.Group != d.Spec.Group {
			continue
		}
		for _, kind := range []string{s.Resource.Kind, s.Resource.ListKind} {
			if kind == d.Spec.Names.Kind {
				errs = append(errs, field.Invalid(path.Child("kind"), kind, "is already in use by "+r.kind.DefinitionName))
			}
			if kind == d.Spec.Names.ListKind {
				errs = append(errs, field.Invalid(path.Child("listKind"), kind, "is already in use by "+r.kind.DefinitionName))
			}
		}
	}
	return errs
}

// establish writes the status of a valid definition: its names are accepted and it is served.
func establish(d *catalog.Definition) {
	s := &d.Status
	s.AcceptedNames = d.Spec.Names
	for i := range d.Spec.Versions {
		if v := &d.Spec.Versions[i]; v.Storage && !slices.Contains(s.StoredVersions, v.Name) {
			s.StoredVersions = append(s.StoredVersions, v.Name)
		}
	}
	condition(s, "NamesAccepted", "NoConflicts", "no conflicts found")
	condition(s, "Established", "InitialNamesAccepted", "the initial names have been accepted")
}

// condition makes a condition true, and leaves it alone when it is.
func condition(s *catalog.DefinitionStatus, typ, reason, message string) {
	c := catalog.DefinitionCondition{
		Type: typ, Status: "True", LastTransitionTime: metav1.Now().Rfc3339Copy(), Reason: reason, Message: message,
	}
	i := slices.IndexFunc(s.Conditions, func(x catalog.DefinitionCondition) bool { return x.Type == typ })
	switch {
	case i < 0:
		s.Conditions = append(s.Conditions, c)
	case s.Conditions[i].Status != "True":
		s.Conditions[i] = c
	}
}

// deleteDefinition deletes a CustomResourceDefinition with its objects. Objects that finalizers hold keep it until they
// are gone.
func (t *tx) deleteDefinition(p place, obj runtime.Object) ([]byte, error) {
	d := obj.(*catalog.Definition)
	if r := t.resources.defined(p.name); r != nil {
		if err := t.deleteEach(r, t.keys(r, "")); err != nil {
			return nil, err
		}
	}
	if d.DeletionTimestamp == nil {
		now := metav1.Now().Rfc3339Copy()
		d.DeletionTimestamp = &now
	}
	others := slices.DeleteFunc(slices.Clone(d.Finalizers), func(f string) bool { return f == cleanup })
	d.Finalizers = append(others, cleanup)
	condition(&d.Status, "Terminating", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
	if len(others) > 0 || !t.unused(p.name) {
		return t.put(p.face.resource, p.key(), d, p.face.index)
	}
	t.remove(p.face.resource, p.key(), p.face.index)
	d.ResourceVersion = fmt.Sprint(t.rev)
	return encodeAs(d, p.face.resource, p.face.index)
}

// unused tells whether there are no objects of a custom kind.
func (t *tx) unused(definition string) bool {
	r := t.resources.defined(definition)
	return r == nil || len(t.keys(r, "")) == 0
}

// settleDefinition deletes a CustomResourceDefinition if it only waited for the last of its objects to go.
func (t *tx) settleDefinition(name string) error {
	obj, err := t.decoded(t.resources.definitions, name)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if obj != nil && accessor(obj).GetDeletionTimestamp() != nil && t.abandoned(obj) {
		t.remove(t.resources.definitions, name, 0)
	}
	return nil
}

// abandoned tells whether nothing holds a CustomResourceDefinition that is to be deleted.
func (t *tx) abandoned(definition runtime.Object) bool {
	m := accessor(definition)
	for _, f := range m.GetFinalizers() {
		if f != cleanup {
			return false
		}
	}
	return t.unused(m.GetName())
}

// checkTerminating fails for a new object of a custom kind whose CustomResourceDefinition is to be deleted.
func (t *tx) checkTerminating(f face) error {
	if !f.kind.Custom() {
		return nil
	}
	obj, err := t.decoded(t.resources.definitions, f.kind.DefinitionName)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if obj == nil || accessor(obj).GetDeletionTimestamp() == nil {
		return nil
	}
	status := apierrors.NewMethodNotSupported(f.group(), "create")
	status.ErrStatus.Message = "create not allowed while custom resource definition is terminating"
	return status
}
