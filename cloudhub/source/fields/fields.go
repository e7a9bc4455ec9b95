// Package fields knows the field labels that kube-apiserver accepts in selectors, by resource.
package fields

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// never is the path of a label that kube-apiserver accepts but never fills, so that it only matches "".
const never = ""

// For returns the field labels of a built-in resource beside metadata.name and metadata.namespace, nil when it has none.
// The caller must not change the result. Labels follow the AddFieldLabelConversionFunc calls of kubernetes v1.37 (what
// is accepted) and the SelectableFields functions of its registries (which value it stands for, absent ones included).
// Custom resources declare theirs in their CRD and are not known here.
//
// Indexed are the labels by which controllers follow one resource's share of a cluster: node agents by node name,
// signers by signer name, drivers by driver name.
func For(group, resource string) []watchlog.Field {
	return table[schema.GroupResource{Group: group, Resource: resource}]
}

// table is never changed.
var table = map[schema.GroupResource][]watchlog.Field{
	core("pods"): {
		indexed("spec.nodeName"),
		plain("spec.restartPolicy"),
		plain("spec.schedulerName"),
		plain("spec.serviceAccountName"),
		absent("spec.hostNetwork", "false"),
		plain("status.phase"),
		plain("status.podIP"),
		at("status.podIPs", never),
		plain("status.nominatedNodeName"),
	},
	core("nodes"):                  {absent("spec.unschedulable", "false")},
	core("namespaces"):             {plain("status.phase")},
	core("replicationcontrollers"): {absent("status.replicas", "0")},
	core("secrets"):                {plain("type")},
	core("services"):               {plain("spec.clusterIP"), plain("spec.type")},
	core("events"): append(eventSubject("involvedObject"),
		plain("reason"),
		plain("reportingComponent"),
		at("source", "source.component"), // kube-apiserver falls back to reportingComponent when it is empty
		plain("type"),
	),
	in("events.k8s.io", "events"): append(eventSubject("regarding"),
		plain("reason"),
		plain("reportingController"),
		plain("type"),
	),
	in("batch", "jobs"): {{Label: "status.successful", Path: "status.succeeded", Default: "0"}},
	in("certificates.k8s.io", "certificatesigningrequests"): {indexed("spec.signerName")},
	in("certificates.k8s.io", "clustertrustbundles"):        {indexed("spec.signerName")},
	in("certificates.k8s.io", "podcertificaterequests"): {
		indexed("spec.signerName"),
		plain("spec.podName"),
		indexed("spec.nodeName"),
	},
	in("resource.k8s.io", "resourceslices"): {
		indexed("spec.nodeName"),
		indexed("spec.driver"),
		plain("spec.pool.name"),
	},
}

// eventSubject returns the seven labels of an event's subject. The uid is indexed: it is how the events of one object
// are asked for.
func eventSubject(at string) []watchlog.Field {
	return []watchlog.Field{
		plain(at + ".kind"),
		plain(at + ".namespace"),
		plain(at + ".name"),
		indexed(at + ".uid"),
		plain(at + ".apiVersion"),
		plain(at + ".resourceVersion"),
		plain(at + ".fieldPath"),
	}
}

func core(resource string) schema.GroupResource { return in("", resource) }

func in(group, resource string) schema.GroupResource {
	return schema.GroupResource{Group: group, Resource: resource}
}

func plain(label string) watchlog.Field { return at(label, label) }

func at(label, path string) watchlog.Field { return watchlog.Field{Label: label, Path: path} }

func indexed(label string) watchlog.Field {
	return watchlog.Field{Label: label, Path: label, Indexed: true}
}

func absent(label, value string) watchlog.Field {
	return watchlog.Field{Label: label, Path: label, Default: value}
}
