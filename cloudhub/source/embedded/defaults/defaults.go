// Package defaults fills in what objects of built-in kinds leave open, as kube-apiserver would, for the kinds whose
// readers rely on it: kubelets on the fields of pods, selectors on phases and types, controllers on replica counts.
// It is not all of kubernetes' defaulting: fields outside what is listed here stay as they came.
package defaults

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
)

// Set fills in the defaults of obj. It does nothing to kinds that it has none for, custom resources among them.
func Set(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Pod:
		pod(o)
	case *corev1.PodTemplate:
		podSpec(&o.Template.Spec)
	case *corev1.ReplicationController:
		replicationController(o)
	case *appsv1.Deployment:
		deployment(o)
	case *appsv1.ReplicaSet:
		unset(&o.Spec.Replicas, 1)
		podSpec(&o.Spec.Template.Spec)
	case *appsv1.StatefulSet:
		statefulSet(o)
	case *appsv1.DaemonSet:
		daemonSet(o)
	case *batchv1.Job:
		job(o)
	case *batchv1.CronJob:
		cronJob(o)
	default:
		setOther(obj)
	}
}

func setOther(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Namespace:
		namespace(o)
	case *corev1.Node:
		node(o)
	case *corev1.Secret:
		secret(o)
	case *corev1.Service:
		service(o)
	case *corev1.Endpoints: //nolint:staticcheck // deprecated and still served
		endpoints(o)
	case *corev1.PersistentVolume:
		persistentVolume(o)
	case *corev1.PersistentVolumeClaim:
		persistentVolumeClaim(o)
	case *discoveryv1.EndpointSlice:
		endpointSlice(o)
	case *networkingv1.NetworkPolicy:
		networkPolicy(o)
	case *rbacv1.RoleBinding:
		binding(&o.RoleRef, o.Subjects)
	case *rbacv1.ClusterRoleBinding:
		binding(&o.RoleRef, o.Subjects)
	case *schedulingv1.PriorityClass:
		unset(&o.PreemptionPolicy, corev1.PreemptLowerPriority)
	case *storagev1.StorageClass:
		unset(&o.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
		unset(&o.VolumeBindingMode, storagev1.VolumeBindingImmediate)
	case *storagev1.CSIDriver:
		csiDriver(o)
	case *admissionv1.ValidatingWebhookConfiguration:
		validatingWebhooks(o)
	case *admissionv1.MutatingWebhookConfiguration:
		mutatingWebhooks(o)
	case *catalog.Definition:
		o.SetDefaults()
	}
}

// empty sets a field that has its zero value.
func empty[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// unset sets a field that is nil.
func unset[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
