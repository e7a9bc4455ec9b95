package kinds

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
)

// name is what an object says it is.
type name struct{ apiVersion, kind string }

// table has a constructor for each kind that kube-apiserver 1.37 serves unless told otherwise and whose type is in
// k8s.io/api. CustomResourceDefinition and APIService have theirs in modules of their own.
var table = map[name]func() object{
	{"admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy"}:          construct[admissionregistrationv1.MutatingAdmissionPolicy],
	{"admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding"}:   construct[admissionregistrationv1.MutatingAdmissionPolicyBinding],
	{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"}:     construct[admissionregistrationv1.MutatingWebhookConfiguration],
	{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"}:        construct[admissionregistrationv1.ValidatingAdmissionPolicy],
	{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"}: construct[admissionregistrationv1.ValidatingAdmissionPolicyBinding],
	{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"}:   construct[admissionregistrationv1.ValidatingWebhookConfiguration],
	{"apps/v1", "ControllerRevision"}:                                       construct[appsv1.ControllerRevision],
	{"apps/v1", "DaemonSet"}:                                                construct[appsv1.DaemonSet],
	{"apps/v1", "Deployment"}:                                               construct[appsv1.Deployment],
	{"apps/v1", "ReplicaSet"}:                                               construct[appsv1.ReplicaSet],
	{"apps/v1", "StatefulSet"}:                                              construct[appsv1.StatefulSet],
	{"autoscaling/v1", "HorizontalPodAutoscaler"}:                           construct[autoscalingv1.HorizontalPodAutoscaler],
	{"autoscaling/v2", "HorizontalPodAutoscaler"}:                           construct[autoscalingv2.HorizontalPodAutoscaler],
	{"batch/v1", "CronJob"}:                                                 construct[batchv1.CronJob],
	{"batch/v1", "Job"}:                                                     construct[batchv1.Job],
	{"certificates.k8s.io/v1", "CertificateSigningRequest"}:                 construct[certificatesv1.CertificateSigningRequest],
	{"certificates.k8s.io/v1", "ClusterTrustBundle"}:                        construct[certificatesv1.ClusterTrustBundle],
	{"certificates.k8s.io/v1", "PodCertificateRequest"}:                     construct[certificatesv1.PodCertificateRequest],
	{"coordination.k8s.io/v1", "Lease"}:                                     construct[coordinationv1.Lease],
	{"discovery.k8s.io/v1", "EndpointSlice"}:                                construct[discoveryv1.EndpointSlice],
	{"events.k8s.io/v1", "Event"}:                                           construct[eventsv1.Event],
	{"flowcontrol.apiserver.k8s.io/v1", "FlowSchema"}:                       construct[flowcontrolv1.FlowSchema],
	{"flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration"}:       construct[flowcontrolv1.PriorityLevelConfiguration],
	{"networking.k8s.io/v1", "IPAddress"}:                                   construct[networkingv1.IPAddress],
	{"networking.k8s.io/v1", "Ingress"}:                                     construct[networkingv1.Ingress],
	{"networking.k8s.io/v1", "IngressClass"}:                                construct[networkingv1.IngressClass],
	{"networking.k8s.io/v1", "NetworkPolicy"}:                               construct[networkingv1.NetworkPolicy],
	{"networking.k8s.io/v1", "ServiceCIDR"}:                                 construct[networkingv1.ServiceCIDR],
	{"node.k8s.io/v1", "RuntimeClass"}:                                      construct[nodev1.RuntimeClass],
	{"policy/v1", "PodDisruptionBudget"}:                                    construct[policyv1.PodDisruptionBudget],
	{"rbac.authorization.k8s.io/v1", "ClusterRole"}:                         construct[rbacv1.ClusterRole],
	{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding"}:                  construct[rbacv1.ClusterRoleBinding],
	{"rbac.authorization.k8s.io/v1", "Role"}:                                construct[rbacv1.Role],
	{"rbac.authorization.k8s.io/v1", "RoleBinding"}:                         construct[rbacv1.RoleBinding],
	{"resource.k8s.io/v1", "DeviceClass"}:                                   construct[resourcev1.DeviceClass],
	{"resource.k8s.io/v1", "DeviceTaintRule"}:                               construct[resourcev1.DeviceTaintRule],
	{"resource.k8s.io/v1", "ResourceClaim"}:                                 construct[resourcev1.ResourceClaim],
	{"resource.k8s.io/v1", "ResourceClaimTemplate"}:                         construct[resourcev1.ResourceClaimTemplate],
	{"resource.k8s.io/v1", "ResourceSlice"}:                                 construct[resourcev1.ResourceSlice],
	{"scheduling.k8s.io/v1", "PriorityClass"}:                               construct[schedulingv1.PriorityClass],
	{"storage.k8s.io/v1", "CSIDriver"}:                                      construct[storagev1.CSIDriver],
	{"storage.k8s.io/v1", "CSINode"}:                                        construct[storagev1.CSINode],
	{"storage.k8s.io/v1", "CSIStorageCapacity"}:                             construct[storagev1.CSIStorageCapacity],
	{"storage.k8s.io/v1", "StorageClass"}:                                   construct[storagev1.StorageClass],
	{"storage.k8s.io/v1", "VolumeAttachment"}:                               construct[storagev1.VolumeAttachment],
	{"storage.k8s.io/v1", "VolumeAttributesClass"}:                          construct[storagev1.VolumeAttributesClass],
	{"storagemigration.k8s.io/v1", "StorageVersionMigration"}:               construct[storagemigrationv1.StorageVersionMigration],
	{"v1", "ComponentStatus"}:                                               construct[corev1.ComponentStatus],
	{"v1", "ConfigMap"}:                                                     construct[corev1.ConfigMap],
	{"v1", "Endpoints"}:                                                     construct[corev1.Endpoints], //nolint:staticcheck // deprecated and served
	{"v1", "Event"}:                                                         construct[corev1.Event],
	{"v1", "LimitRange"}:                                                    construct[corev1.LimitRange],
	{"v1", "Namespace"}:                                                     construct[corev1.Namespace],
	{"v1", "Node"}:                                                          construct[corev1.Node],
	{"v1", "PersistentVolume"}:                                              construct[corev1.PersistentVolume],
	{"v1", "PersistentVolumeClaim"}:                                         construct[corev1.PersistentVolumeClaim],
	{"v1", "Pod"}:                                                           construct[corev1.Pod],
	{"v1", "PodTemplate"}:                                                   construct[corev1.PodTemplate],
	{"v1", "ReplicationController"}:                                         construct[corev1.ReplicationController],
	{"v1", "ResourceQuota"}:                                                 construct[corev1.ResourceQuota],
	{"v1", "Secret"}:                                                        construct[corev1.Secret],
	{"v1", "Service"}:                                                       construct[corev1.Service],
	{"v1", "ServiceAccount"}:                                                construct[corev1.ServiceAccount],
}

func construct[T any, P interface {
	*T
	object
}]() object {
	return P(new(T))
}
