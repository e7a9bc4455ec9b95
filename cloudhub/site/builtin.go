package site

import "github.com/tombolo-sync/tombolo/cloudhub/scope"

// siteLabel marks the namespaces of an edge for the scope "site". Its value is the edge's name.
const siteLabel = "tombolo.dev/site"

// ready are the ready-made scopes.
var ready = map[string][]scope.Rule{
	"node": nodeRules,
	"site": siteRules,
}

// nodeRules cover what a kubelet, a kube-proxy and a CoreDNS read at a node, and no secret that its pods don't name.
var nodeRules = []scope.Rule{
	{Resource: "pods", BoundToNode: "spec.nodeName"},
	{Resource: "nodes", BoundToNode: "metadata.name"},
	{Group: "coordination.k8s.io", Resource: "leases", Namespaces: []string{"kube-node-lease"}, BoundToNode: "metadata.name"},
	{Group: "storage.k8s.io", Resource: "csinodes", BoundToNode: "metadata.name"},
	{Resource: "secrets", ReferencedBy: []string{"pods", "serviceaccounts", "persistentvolumes"}},
	{Resource: "configmaps", ReferencedBy: []string{"pods"}},
	{Resource: "serviceaccounts", ReferencedBy: []string{"pods"}},
	{Resource: "persistentvolumeclaims", ReferencedBy: []string{"pods"}},
	{Resource: "persistentvolumes", ReferencedBy: []string{"persistentvolumeclaims"}},
	{Resource: "services"},
	{Group: "discovery.k8s.io", Resource: "endpointslices"},
	{Resource: "namespaces"},
	{Group: "node.k8s.io", Resource: "runtimeclasses"},
	{Group: "storage.k8s.io", Resource: "csidrivers"},
}

// siteRules cover what is in the namespaces of a site: those whose label tombolo.dev/site has the edge's name.
var siteRules = func() []scope.Rule {
	const namespaces = siteLabel + "=$(EDGE_NAME)"
	rules := []scope.Rule{{Resource: "namespaces", LabelSelector: namespaces}}
	for _, r := range []struct{ group, resource string }{
		{"", "pods"}, {"", "services"}, {"", "configmaps"}, {"", "secrets"}, {"", "serviceaccounts"},
		{"", "persistentvolumeclaims"}, {"discovery.k8s.io", "endpointslices"}, {"apps", "deployments"},
		{"apps", "replicasets"}, {"apps", "statefulsets"}, {"apps", "daemonsets"}, {"batch", "jobs"}, {"batch", "cronjobs"},
		{"networking.k8s.io", "ingresses"}, {"networking.k8s.io", "networkpolicies"},
		{"rbac.authorization.k8s.io", "roles"}, {"rbac.authorization.k8s.io", "rolebindings"},
	} {
		rules = append(rules, scope.Rule{Group: r.group, Resource: r.resource, NamespaceSelector: namespaces})
	}
	return append(rules, scope.Rule{Resource: "persistentvolumes", ReferencedBy: []string{"persistentvolumeclaims"}})
}()
