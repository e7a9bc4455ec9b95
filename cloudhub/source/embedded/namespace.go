package embedded

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The namespaces that a new cloud begins with. The first three can't be deleted.
var firstNamespaces = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}

// bootstrap makes the first namespaces of a new cloud and gives it its identity.
func (c *Cloud) bootstrap() error {
	if c.epoch == "" {
		for _, name := range firstNamespaces {
			if err := c.write(func(t *tx) error { return t.addNamespace(name) }); err != nil {
				return fmt.Errorf("namespace %s: %w", name, err)
			}
		}
		log := c.resources.Load().namespaces.logs[0]
		c.epoch = log.Snapshot().Get(metav1.NamespaceSystem).UID()
		if err := c.file.setEpoch(c.epoch); err != nil {
			return err
		}
	}
	c.describe()
	return nil
}

// addNamespace makes a namespace unless a start that was cut short has made it already.
func (t *tx) addNamespace(name string) error {
	if t.get(t.resources.namespaces, name) != nil {
		return nil
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	_, err := t.create(face{t.resources.namespaces, 0}, "", ns)
	return err
}

// deleteNamespace deletes a namespace with all that is in it, each object with a revision of its own. Objects that
// finalizers hold keep it, terminating, until they are gone.
func (t *tx) deleteNamespace(p place, obj runtime.Object) ([]byte, error) {
	if slices.Contains(firstNamespaces[:3], p.name) {
		return nil, apierrors.NewForbidden(p.face.group(), p.name, errors.New("this namespace may not be deleted"))
	}
	for _, r := range t.resources.all {
		if r.kind.Namespaced() {
			if err := t.deleteEach(r, t.keys(r, p.name)); err != nil {
				return nil, err
			}
		}
	}
	ns := obj.(*corev1.Namespace)
	if ns.DeletionTimestamp == nil {
		now := metav1.Now().Rfc3339Copy()
		ns.DeletionTimestamp = &now
	}
	ns.Status.Phase = corev1.NamespaceTerminating
	if len(ns.Finalizers) > 0 || !t.vacant(p.name) {
		return t.put(p.face.resource, p.key(), ns, p.face.index)
	}
	// It is answered as kube-apiserver answers, whose namespaces take a moment to go.
	t.remove(p.face.resource, p.key(), p.face.index)
	ns.ResourceVersion = fmt.Sprint(t.rev)
	return encodeAs(ns, p.face.resource, p.face.index)
}

// vacant tells whether nothing is in a namespace.
func (t *tx) vacant(namespace string) bool {
	for _, r := range t.resources.all {
		if r.kind.Namespaced() && len(t.keys(r, namespace)) > 0 {
			return false
		}
	}
	return true
}

// settleNamespace deletes a namespace if it only waited for the last object in it to go.
func (t *tx) settleNamespace(name string) error {
	obj, err := t.decoded(t.resources.namespaces, name)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if obj == nil {
		return nil
	}
	m := accessor(obj)
	if m.GetDeletionTimestamp() != nil && len(m.GetFinalizers()) == 0 && t.vacant(name) {
		t.remove(t.resources.namespaces, name, 0)
	}
	return nil
}

// onlyFinalizers returns a namespace with the finalizers of another in its spec.
func onlyFinalizers(obj, old runtime.Object) runtime.Object {
	out := old.DeepCopyObject().(*corev1.Namespace)
	out.Spec.Finalizers = obj.(*corev1.Namespace).Spec.Finalizers
	return out
}
