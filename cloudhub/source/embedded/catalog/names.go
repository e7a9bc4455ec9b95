package catalog

import (
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// nameRule returns the rule for names of a built-in resource. Most are DNS subdomains; the others follow kubernetes'
// pkg/apis/*/validation.
func nameRule(group, resource string) validation.ValidateNameFunc {
	switch (schema.GroupResource{Group: group, Resource: resource}) {
	case schema.GroupResource{Resource: "namespaces"}:
		return validation.ValidateNamespaceName
	case schema.GroupResource{Resource: "services"}:
		return validation.NameIsDNS1035Label
	case schema.GroupResource{Resource: "events"},
		schema.GroupResource{Group: "certificates.k8s.io", Resource: "clustertrustbundles"}, // "signer:name"
		schema.GroupResource{Group: "networking.k8s.io", Resource: "ipaddresses"}:
		return pathSegment
	}
	if group == "rbac.authorization.k8s.io" { // "system:node"
		return pathSegment
	}
	return validation.NameIsDNSSubdomain
}

// pathSegment is the rule for names that may be anything which can stand in a path.
func pathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}
