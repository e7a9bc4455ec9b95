package catalog

import (
	"strings"

	"github.com/tombolo-sync/tombolo/cloudhub/source/fields"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// trait is a property of a built-in kind.
type trait uint16

const (
	spaced   trait = 1 << iota // namespaced
	status                     // has a status subresource
	scale                      // has a scale subresource
	counted                    // has a generation
	returned                   // DELETE answers with the object
	upsert                     // PUT creates
	locked                     // PUT needs a resourceVersion
	single                     // no DELETE of a collection
)

// row is a line of the table of built-in kinds.
type row struct {
	version  string
	resource string // plural
	kind     string
	traits   trait
	short    string // short names, comma separated
	category string
	others   string // subresources beside scale and status, comma separated
}

// group is a part of the table, in the order of discovery.
type group struct {
	name string
	rows []row
}

// builtins are the resources that kube-apiserver 1.37 serves by default and that are stored, in the order of its
// discovery. Left out are the ones that are answers rather than objects (reviews, bindings, component statuses),
// APIServices, and the older encoding of autoscalers. Traits follow the strategies in kubernetes' pkg/registry.
var builtins = []group{
	{"", []row{
		{"v1", "configmaps", "ConfigMap", spaced, "cm", "", ""},
		{"v1", "endpoints", "Endpoints", spaced | upsert, "ep", "", ""},
		{"v1", "events", "Event", spaced | upsert, "ev", "", ""},
		{"v1", "limitranges", "LimitRange", spaced | upsert, "limits", "", ""},
		{"v1", "namespaces", "Namespace", status | returned | single, "ns", "", "finalize"},
		{"v1", "nodes", "Node", status, "no", "", ""},
		{"v1", "persistentvolumeclaims", "PersistentVolumeClaim", spaced | status | returned, "pvc", "", ""},
		{"v1", "persistentvolumes", "PersistentVolume", status | returned, "pv", "", ""},
		{"v1", "pods", "Pod", spaced | status | counted | returned, "po", "all", "ephemeralcontainers,resize"},
		{"v1", "podtemplates", "PodTemplate", spaced | counted | returned, "", "", ""},
		{"v1", "replicationcontrollers", "ReplicationController", spaced | status | scale | counted, "rc", "all", ""},
		{"v1", "resourcequotas", "ResourceQuota", spaced | status | returned, "quota", "", ""},
		{"v1", "secrets", "Secret", spaced, "", "", ""},
		{"v1", "serviceaccounts", "ServiceAccount", spaced | returned, "sa", "", ""},
		{"v1", "services", "Service", spaced | status | returned | upsert, "svc", "all", ""},
	}},
	{"apps", []row{
		{"v1", "controllerrevisions", "ControllerRevision", spaced, "", "", ""},
		{"v1", "daemonsets", "DaemonSet", spaced | status | counted, "ds", "all", ""},
		{"v1", "deployments", "Deployment", spaced | status | scale | counted, "deploy", "all", ""},
		{"v1", "replicasets", "ReplicaSet", spaced | status | scale | counted, "rs", "all", ""},
		{"v1", "statefulsets", "StatefulSet", spaced | status | scale | counted, "sts", "all", ""},
	}},
	{"events.k8s.io", []row{{"v1", "events", "Event", spaced | upsert, "ev", "", ""}}},
	{"autoscaling", []row{
		{"v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", spaced | status | counted, "hpa", "all", ""},
	}},
	{"batch", []row{
		{"v1", "cronjobs", "CronJob", spaced | status | counted, "cj", "all", ""},
		{"v1", "jobs", "Job", spaced | status | counted, "", "all", ""},
	}},
	{"certificates.k8s.io", []row{
		{"v1", "certificatesigningrequests", "CertificateSigningRequest", status, "csr", "", "approval"},
		{"v1", "clustertrustbundles", "ClusterTrustBundle", locked, "", "", ""},
		{"v1", "podcertificaterequests", "PodCertificateRequest", spaced | status | locked, "", "", ""},
	}},
	{"networking.k8s.io", []row{
		{"v1", "ingressclasses", "IngressClass", counted, "", "", ""},
		{"v1", "ingresses", "Ingress", spaced | status | counted, "ing", "", ""},
		{"v1", "ipaddresses", "IPAddress", 0, "ip", "", ""},
		{"v1", "networkpolicies", "NetworkPolicy", spaced | counted, "netpol", "", ""},
		{"v1", "servicecidrs", "ServiceCIDR", status, "", "", ""},
	}},
	{"policy", []row{
		{"v1", "poddisruptionbudgets", "PodDisruptionBudget", spaced | status | counted | locked, "pdb", "", ""},
	}},
	{"rbac.authorization.k8s.io", []row{
		{"v1", "clusterrolebindings", "ClusterRoleBinding", upsert, "", "", ""},
		{"v1", "clusterroles", "ClusterRole", upsert, "", "", ""},
		{"v1", "rolebindings", "RoleBinding", spaced | upsert, "", "", ""},
		{"v1", "roles", "Role", spaced | upsert, "", "", ""},
	}},
	{"storage.k8s.io", []row{
		{"v1", "csidrivers", "CSIDriver", returned | locked, "", "", ""},
		{"v1", "csinodes", "CSINode", status | returned | locked, "", "", ""},
		{"v1", "csistoragecapacities", "CSIStorageCapacity", spaced | locked, "", "", ""},
		{"v1", "storageclasses", "StorageClass", returned, "sc", "", ""},
		{"v1", "volumeattachments", "VolumeAttachment", status | returned | locked, "", "", ""},
		{"v1", "volumeattributesclasses", "VolumeAttributesClass", returned, "vac", "", ""},
	}},
	{"admissionregistration.k8s.io", []row{
		{"v1", "mutatingadmissionpolicies", "MutatingAdmissionPolicy", counted | locked, "", extension, ""},
		{"v1", "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", counted | locked, "", extension, ""},
		{"v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", counted | locked, "", extension, ""},
		{"v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", status | counted | locked, "", extension, ""},
		{"v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", counted | locked, "", extension, ""},
		{"v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", counted | locked, "", extension, ""},
	}},
	{"apiextensions.k8s.io", []row{
		{"v1", "customresourcedefinitions", "CustomResourceDefinition", status | counted | locked, "crd,crds", extension, ""},
	}},
	{"scheduling.k8s.io", []row{{"v1", "priorityclasses", "PriorityClass", counted, "pc", "", ""}}},
	{"coordination.k8s.io", []row{{"v1", "leases", "Lease", spaced | upsert | locked, "", "", ""}}},
	{"node.k8s.io", []row{{"v1", "runtimeclasses", "RuntimeClass", upsert | locked, "", "", ""}}},
	{"discovery.k8s.io", []row{{"v1", "endpointslices", "EndpointSlice", spaced | counted, "", "", ""}}},
	{"resource.k8s.io", []row{
		{"v1", "deviceclasses", "DeviceClass", counted | returned, "", "", ""},
		{"v1", "devicetaintrules", "DeviceTaintRule", status | counted, "", "", ""},
		{"v1", "resourceclaims", "ResourceClaim", spaced | status | returned, "", "", ""},
		{"v1", "resourceclaimtemplates", "ResourceClaimTemplate", spaced | returned, "", "", ""},
		{"v1", "resourceslices", "ResourceSlice", counted | returned, "", "", ""},
	}},
	{"flowcontrol.apiserver.k8s.io", []row{
		{"v1", "flowschemas", "FlowSchema", status | counted, "", "", ""},
		{"v1", "prioritylevelconfigurations", "PriorityLevelConfiguration", status | counted, "", "", ""},
	}},
	{"storagemigration.k8s.io", []row{
		{"v1", "storageversionmigrations", "StorageVersionMigration", status | locked, "", "", ""},
	}},
}

const extension = "api-extensions"

// Builtins returns the built-in kinds, in the order of discovery of their stored faces. The two encodings of events are
// one kind.
func Builtins() []*Kind {
	var kinds []*Kind
	var events *Kind
	for _, g := range builtins {
		for _, r := range g.rows {
			k := r.build(g.name)
			switch {
			case r.resource != "events":
			case events == nil:
				events = k
			default:
				events.Faces = append(events.Faces, k.Faces...)
				continue
			}
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// GroupOrder returns the names of the built-in groups in the order of discovery.
func GroupOrder() []string {
	names := make([]string, len(builtins))
	for i, g := range builtins {
		names[i] = g.name
	}
	return names
}

func (r row) build(group string) *Kind {
	f := &Face{
		Resource: watchlog.Resource{
			Group: group, Version: r.version, Name: r.resource, Kind: r.kind, ListKind: r.kind + "List",
			Namespaced: r.has(spaced), Fields: fields.For(group, r.resource),
		},
		Served: true,
		Status: r.has(status),
		Others: split(r.others),
	}
	f.Resource.Columns = f.Printer().Columns()
	if r.has(scale) {
		f.Scale = &Scale{Replicas: "spec.replicas", StatusReplicas: "status.replicas", Selector: "spec.selector"}
	}
	return &Kind{
		Faces:      []*Face{f},
		Singular:   strings.ToLower(r.kind),
		ShortNames: split(r.short),
		Categories: split(r.category),
		Name:       nameRule(group, r.resource),
		Generation: r.has(counted),
		Returned:   r.has(returned),
		Upsert:     r.has(upsert),
		Locked:     r.has(locked),
		Single:     r.has(single),
	}
}

func (r row) has(t trait) bool { return r.traits&t != 0 }

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}
