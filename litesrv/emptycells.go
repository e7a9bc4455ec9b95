package litesrv

import "github.com/tombolo-sync/tombolo/internal/watchlog"

// appendEmptyCells appends the cells of an empty object of r, which bookmarks in the form of tables have. In those of
// custom resources nothing is printed but an empty name; of resources that nothing is known of that is a guess.
func appendEmptyCells(dst []byte, r *watchlog.Resource) []byte {
	if cells, ok := emptyCells[r.APIVersion()+" "+r.Kind]; ok && !r.Custom {
		return append(dst, cells...)
	}
	return appendNoCells(dst, r.Columns, "")
}

// appendNoCells appends cells of which only the first, a name, has something in it.
func appendNoCells(dst []byte, columns, name string) []byte {
	dst = append(append(append(dst, `["`...), name...), '"')
	watchlog.Elements([]byte(columns), func(i int, _ []byte) bool {
		if i > 0 {
			dst = append(dst, ",null"...)
		}
		return true
	})
	return append(dst, ']')
}

// unknown is what kube-apiserver prints for a time that isn't there, none for a list that is empty, unset for a pointer
// to nothing.
const (
	unknown = `"\u003cunknown\u003e"`
	none    = `"\u003cnone\u003e"`
	unset   = `"\u003cunset\u003e"`
)

// emptyCells are the cells of an empty object of a built-in kind, by apiVersion and kind. Taken from the bookmarks of
// kube-apiserver 1.37.2.
var emptyCells = map[string]string{
	"admissionregistration.k8s.io/v1 MutatingAdmissionPolicy":              `["",0,` + unset + `,` + unknown + `]`,
	"admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding":       `["","",` + unset + `,` + unknown + `]`,
	"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration":         `["",0,` + unknown + `]`,
	"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy":            `["",0,` + unset + `,` + unknown + `]`,
	"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding":     `["","",` + unset + `,` + unknown + `]`,
	"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration":       `["",0,` + unknown + `]`,
	"admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy":        `["",0,` + unset + `,` + unknown + `]`,
	"admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding": `["","",` + unset + `,` + unknown + `]`,
	"admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicy":         `["",0,` + unset + `,` + unknown + `]`,
	"admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicyBinding":  `["","",` + unset + `,` + unknown + `]`,
	"apiextensions.k8s.io/v1 CustomResourceDefinition":                     `["","","","0001-01-01T00:00:00Z","","","",false]`,
	"apiregistration.k8s.io/v1 APIService":                                 `["","Local","Unknown",` + unknown + `]`,
	"apps/v1 ControllerRevision":                                           `["",` + none + `,0,` + unknown + `]`,
	"apps/v1 DaemonSet":                                                    `["",0,0,0,0,0,` + none + `,` + unknown + `,"","",` + none + `]`,
	"apps/v1 Deployment":                                                   `["","0/0",0,0,` + unknown + `,"","",""]`,
	"apps/v1 ReplicaSet":                                                   `["",0,0,0,` + unknown + `,"","",` + none + `]`,
	"apps/v1 StatefulSet":                                                  `["","0/0",` + unknown + `,"",""]`,
	"autoscaling/v1 HorizontalPodAutoscaler":                               `["","/",` + none + `,` + unset + `,0,0,` + unknown + `]`,
	"autoscaling/v2 HorizontalPodAutoscaler":                               `["","/",` + none + `,` + unset + `,0,0,` + unknown + `]`,
	"batch/v1 CronJob":                                                     `["","",` + none + `,` + unset + `,0,` + none + `,` + unknown + `,"","",` + none + `]`,
	"batch/v1 Job":                                                         `["","Running","0/1","",` + unknown + `,"","",` + none + `]`,
	"certificates.k8s.io/v1 CertificateSigningRequest":                     `["",` + unknown + `,` + none + `,"",` + none + `,"Pending"]`,
	"certificates.k8s.io/v1 ClusterTrustBundle":                            `["",` + none + `]`,
	"certificates.k8s.io/v1 PodCertificateRequest":                         `["","","","","","Pending",` + none + `]`,
	"certificates.k8s.io/v1beta1 ClusterTrustBundle":                       `["",` + none + `]`,
	"certificates.k8s.io/v1beta1 PodCertificateRequest":                    `["","","","","","Pending",` + none + `]`,
	"coordination.k8s.io/v1 Lease":                                         `["","",` + unknown + `]`,
	"coordination.k8s.io/v1alpha2 LeaseCandidate":                          `["","","","",` + unknown + `]`,
	"coordination.k8s.io/v1beta1 LeaseCandidate":                           `["","","","",` + unknown + `]`,
	"discovery.k8s.io/v1 EndpointSlice":                                    `["","",` + unset + `,` + unset + `,` + unknown + `]`,
	"events.k8s.io/v1 Event":                                               `[` + unknown + `,"","","","","","",` + unknown + `,1,""]`,
	"flowcontrol.apiserver.k8s.io/v1 FlowSchema":                           `["","",0,` + none + `,` + unknown + `,"?"]`,
	"flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration":           `["","",` + none + `,` + none + `,` + none + `,` + none + `,` + unknown + `]`,
	"internal.apiserver.k8s.io/v1alpha1 StorageVersion":                    `["",` + unset + `,` + unset + `,` + unknown + `]`,
	"networking.k8s.io/v1 IPAddress":                                       `["",` + none + `,` + unknown + `]`,
	"networking.k8s.io/v1 Ingress":                                         `["",` + none + `,"*","","80",` + unknown + `]`,
	"networking.k8s.io/v1 IngressClass":                                    `["","",` + none + `,` + unknown + `]`,
	"networking.k8s.io/v1 NetworkPolicy":                                   `["",` + none + `,` + unknown + `]`,
	"networking.k8s.io/v1 ServiceCIDR":                                     `["","",` + unknown + `]`,
	"node.k8s.io/v1 RuntimeClass":                                          `["","",` + unknown + `]`,
	"policy/v1 PodDisruptionBudget":                                        `["","N/A","N/A",0,` + unknown + `]`,
	"rbac.authorization.k8s.io/v1 ClusterRole":                             `["","0001-01-01T00:00:00Z"]`,
	"rbac.authorization.k8s.io/v1 ClusterRoleBinding":                      `["","/",` + unknown + `,"","",""]`,
	"rbac.authorization.k8s.io/v1 Role":                                    `["","0001-01-01T00:00:00Z"]`,
	"rbac.authorization.k8s.io/v1 RoleBinding":                             `["","/",` + unknown + `,"","",""]`,
	"resource.k8s.io/v1 DeviceClass":                                       `["",` + unknown + `]`,
	"resource.k8s.io/v1 DeviceTaintRule":                                   `["","","","","",` + unknown + `]`,
	"resource.k8s.io/v1 ResourceClaim":                                     `["","pending",` + unknown + `]`,
	"resource.k8s.io/v1 ResourceClaimTemplate":                             `["",` + unknown + `]`,
	"resource.k8s.io/v1 ResourceSlice":                                     `["","","","",` + unknown + `]`,
	"resource.k8s.io/v1alpha3 DeviceTaintRule":                             `["","","","","",` + unknown + `]`,
	"resource.k8s.io/v1alpha3 ResourcePoolStatusRequest":                   `["","","-","-","-","-","-",0,"Pending",` + none + `]`,
	"resource.k8s.io/v1beta1 DeviceClass":                                  `["",` + unknown + `]`,
	"resource.k8s.io/v1beta1 ResourceClaim":                                `["","pending",` + unknown + `]`,
	"resource.k8s.io/v1beta1 ResourceClaimTemplate":                        `["",` + unknown + `]`,
	"resource.k8s.io/v1beta1 ResourceSlice":                                `["","","","",` + unknown + `]`,
	"resource.k8s.io/v1beta2 DeviceClass":                                  `["",` + unknown + `]`,
	"resource.k8s.io/v1beta2 DeviceTaintRule":                              `["","","","","",` + unknown + `]`,
	"resource.k8s.io/v1beta2 ResourceClaim":                                `["","pending",` + unknown + `]`,
	"resource.k8s.io/v1beta2 ResourceClaimTemplate":                        `["",` + unknown + `]`,
	"resource.k8s.io/v1beta2 ResourceSlice":                                `["","","","",` + unknown + `]`,
	"scheduling.k8s.io/v1 PriorityClass":                                   `["",0,false,` + unknown + `,""]`,
	"storage.k8s.io/v1 CSIDriver":                                          `["",true,false,false,` + unset + `,false,` + none + `,` + unknown + `]`,
	"storage.k8s.io/v1 CSINode":                                            `["",0,` + unknown + `]`,
	"storage.k8s.io/v1 CSIStorageCapacity":                                 `["","0001-01-01T00:00:00Z"]`,
	"storage.k8s.io/v1 StorageClass":                                       `["","","Delete","Immediate",false,` + unknown + `]`,
	"storage.k8s.io/v1 VolumeAttachment":                                   `["","","","",false,` + unknown + `]`,
	"storage.k8s.io/v1 VolumeAttributesClass":                              `["","",` + unknown + `]`,
	"storagemigration.k8s.io/v1 StorageVersionMigration":                   `["","","Unknown"]`,
	"storagemigration.k8s.io/v1beta1 StorageVersionMigration":              `["","","Unknown"]`,
	"v1 ConfigMap":             `["",0,` + unknown + `]`,
	"v1 Endpoints":             `["",` + none + `,` + unknown + `]`,
	"v1 Event":                 `[` + unknown + `,"","","","","","",` + unknown + `,1,""]`,
	"v1 LimitRange":            `["","0001-01-01T00:00:00Z"]`,
	"v1 Namespace":             `["","",` + unknown + `]`,
	"v1 Node":                  `["","Unknown",` + none + `,` + unknown + `,"",` + none + `,` + none + `,` + unknown + `,` + unknown + `,` + unknown + `]`,
	"v1 PersistentVolume":      `["","0","","","","","",` + unset + `,"",` + unknown + `,` + unset + `]`,
	"v1 PersistentVolumeClaim": `["","","","","","",` + unset + `,` + unknown + `,` + unset + `]`,
	"v1 Pod":                   `["","0/0","","0",` + unknown + `,` + none + `,` + none + `,` + none + `,` + none + `]`,
	"v1 PodTemplate":           `["","","",` + none + `]`,
	"v1 ReplicationController": `["",0,0,0,` + unknown + `,"","",` + none + `]`,
	"v1 ResourceQuota":         `["","","",` + unknown + `]`,
	"v1 Secret":                `["","",0,` + unknown + `]`,
	"v1 Service":               `["","",` + none + `,` + unknown + `,` + none + `,` + unknown + `,` + none + `]`,
	"v1 ServiceAccount":        `["",` + unknown + `]`,
}
