package embedded

import (
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
)

// initialize sets what the strategies of kube-apiserver set in new objects of single kinds.
func initialize(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Namespace:
		o.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
	case *corev1.Pod:
		o.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: qualityOfService(o)}
	case *corev1.PersistentVolume:
		now := metav1.Now().Rfc3339Copy()
		o.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
	case *catalog.Definition:
		o.Status = catalog.DefinitionStatus{}
	}
}

// qualityOfService returns the class of a pod: Guaranteed when every container has the same requests and limits for CPU
// and memory, BestEffort when none has any, else Burstable.
func qualityOfService(p *corev1.Pod) corev1.PodQOSClass {
	some, all := false, true
	for _, cs := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range cs {
			asks, bound := guaranteed(&cs[i].Resources)
			some, all = some || asks, all && bound
		}
	}
	switch {
	case !some:
		return corev1.PodQOSBestEffort
	case all:
		return corev1.PodQOSGuaranteed
	default:
		return corev1.PodQOSBurstable
	}
}

// guaranteed tells whether a container has requests or limits, and whether it is limited to what it requests.
func guaranteed(r *corev1.ResourceRequirements) (asks, bound bool) {
	bound = true
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		request, limit := positive(r.Requests, name), positive(r.Limits, name)
		asks = asks || request != nil || limit != nil
		if limit == nil || request != nil && request.Cmp(*limit) != 0 {
			bound = false
		}
	}
	return asks, bound
}

func positive(list corev1.ResourceList, name corev1.ResourceName) *quantity.Quantity {
	if q, ok := list[name]; ok && !q.IsZero() {
		return &q
	}
	return nil
}
