package site

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
)

// GroupVersion is that of the kinds.
var GroupVersion = schema.GroupVersion{Group: "tombolo.dev", Version: "v1alpha1"}

// The resources.
var (
	Sites  = schema.GroupResource{Group: GroupVersion.Group, Resource: "edgesites"}
	Scopes = schema.GroupResource{Group: GroupVersion.Group, Resource: "edgescopes"}
)

// EdgeSite is an edge, and is called as it is.
type EdgeSite struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status"`
}

// Spec is what an operator says of an edge.
type Spec struct {
	// Scopes are names of EdgeScopes, or of ready-made scopes. The edge may hold what at least one of them lets it hold.
	Scopes []string `json:"scopes"`
	// Nodes are the nodes that the edge stands for; none means one that is called as the edge is.
	Nodes []string `json:"nodes,omitempty"`
	// Suspended is set for an edge that may neither join nor connect.
	Suspended bool `json:"suspended,omitempty"`
	// CertificatesNotBefore is set to refuse certificates that were issued before.
	CertificatesNotBefore *metav1.Time `json:"certificatesNotBefore,omitempty"`
}

// Status is what the hubs say of an edge.
type Status struct {
	Connected bool         `json:"connected"`
	Hub       string       `json:"hub,omitempty"` // that it is, or was last, connected to
	LastSeen  *metav1.Time `json:"lastSeen,omitempty"`
	// Position is the newest resourceVersion that is durable at the edge.
	Position string `json:"position,omitempty"`
	// Lag is for how long changes are under way that are not durable at the edge yet, as a Go duration in seconds.
	Lag         string             `json:"lag,omitempty"`
	Resources   int32              `json:"resources,omitempty"` // that are synced
	Objects     int64              `json:"objects,omitempty"`
	Bytes       int64              `json:"bytes,omitempty"` // size of the edge's file
	Version     string             `json:"version,omitempty"`
	Certificate *Certificate       `json:"certificate,omitempty"`
	Conditions  []metav1.Condition `json:"conditions,omitempty"`
}

// Certificate is the one that an edge connected with last.
type Certificate struct {
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
}

// EdgeScope is a reusable set of rules.
type EdgeScope struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec ScopeSpec `json:"spec"`
}

// ScopeSpec has the rules of an EdgeScope.
type ScopeSpec struct {
	Rules []scope.Rule `json:"rules"`
}
