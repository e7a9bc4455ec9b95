// Package crds holds the definitions of Tombolo's own kinds, as kubectl applies them to a cluster and as the embedded
// cloud serves them.
package crds

import _ "embed" // of the definitions

// EdgeSites and EdgeScopes are the CustomResourceDefinitions, in YAML.
var (
	//go:embed edgesites.yaml
	EdgeSites []byte
	//go:embed edgescopes.yaml
	EdgeScopes []byte
)
