package catalog

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/printer"
)

// Definition is a CustomResourceDefinition of apiextensions.k8s.io/v1. Schemas are kept as they came.
type Definition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DefinitionSpec   `json:"spec"`
	Status DefinitionStatus `json:"status,omitempty"`
}

// DefinitionSpec is what the author of a definition asks for.
type DefinitionSpec struct {
	Group                 string              `json:"group"`
	Names                 DefinitionNames     `json:"names"`
	Scope                 string              `json:"scope"` // Namespaced or Cluster
	Versions              []DefinitionVersion `json:"versions"`
	Conversion            *Conversion         `json:"conversion,omitempty"`
	PreserveUnknownFields bool                `json:"preserveUnknownFields,omitempty"`
}

// DefinitionNames are the names of a custom kind.
type DefinitionNames struct {
	Plural     string   `json:"plural"`
	Singular   string   `json:"singular,omitempty"`
	ShortNames []string `json:"shortNames,omitempty"`
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

// DefinitionVersion is one version of a custom kind.
type DefinitionVersion struct {
	Name               string            `json:"name"`
	Served             bool              `json:"served"`
	Storage            bool              `json:"storage"`
	Deprecated         bool              `json:"deprecated,omitempty"`
	DeprecationWarning *string           `json:"deprecationWarning,omitempty"`
	Schema             *Validation       `json:"schema,omitempty"`
	Subresources       *Subresources     `json:"subresources,omitempty"`
	Columns            []printer.Column  `json:"additionalPrinterColumns,omitempty"`
	SelectableFields   []SelectableField `json:"selectableFields,omitempty"`
}

// Validation holds the schema of a version.
type Validation struct {
	OpenAPIV3Schema map[string]any `json:"openAPIV3Schema,omitempty"`
}

// Subresources are the subresources of a version.
type Subresources struct {
	Status *struct{}         `json:"status,omitempty"`
	Scale  *SubresourceScale `json:"scale,omitempty"`
}

// SubresourceScale maps the scale subresource; its paths begin with a dot.
type SubresourceScale struct {
	SpecReplicasPath   string  `json:"specReplicasPath"`
	StatusReplicasPath string  `json:"statusReplicasPath"`
	LabelSelectorPath  *string `json:"labelSelectorPath,omitempty"`
}

// SelectableField is a path that field selectors may use; it begins with a dot.
type SelectableField struct {
	JSONPath string `json:"jsonPath"`
}

// Conversion says how versions are converted; the embedded cloud knows only the strategy None.
type Conversion struct {
	Strategy string         `json:"strategy"`
	Webhook  map[string]any `json:"webhook,omitempty"`
}

// DefinitionStatus is what the cloud made of a definition.
type DefinitionStatus struct {
	Conditions         []DefinitionCondition `json:"conditions"`
	AcceptedNames      DefinitionNames       `json:"acceptedNames"`
	StoredVersions     []string              `json:"storedVersions"`
	ObservedGeneration int64                 `json:"observedGeneration,omitempty"`
}

// DefinitionCondition is one observation about a definition.
type DefinitionCondition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
	Reason             string      `json:"reason,omitempty"`
	Message            string      `json:"message,omitempty"`
	ObservedGeneration int64       `json:"observedGeneration,omitempty"`
}

// DeepCopyObject returns a copy that shares nothing with d.
func (d *Definition) DeepCopyObject() runtime.Object {
	raw, err := json.Marshal(d)
	if err != nil {
		panic(err) // a Definition comes from JSON
	}
	c := &Definition{}
	if err := json.Unmarshal(raw, c); err != nil {
		panic(err)
	}
	return c
}
