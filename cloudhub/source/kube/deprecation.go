package kube

import (
	"encoding/json"
	"fmt"
)

// readDeprecation returns what clients of a CRD's version are warned of, empty when it is not deprecated
// (apiextensions-apiserver pkg/apiserver/customresource_handler.go).
func readDeprecation(crd []byte, version string) (string, error) {
	var body struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
			Versions []struct {
				Name       string  `json:"name"`
				Deprecated bool    `json:"deprecated"`
				Warning    *string `json:"deprecationWarning"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(crd, &body); err != nil {
		return "", fmt.Errorf("CRD: deprecation: %w", err)
	}
	for _, v := range body.Spec.Versions {
		switch {
		case v.Name != version || !v.Deprecated:
		case v.Warning != nil:
			return *v.Warning, nil
		default:
			return fmt.Sprintf("%s/%s %s is deprecated", body.Spec.Group, v.Name, body.Spec.Names.Kind), nil
		}
	}
	return "", nil
}
