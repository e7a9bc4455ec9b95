package litesrv

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// appendYAML appends a JSON value as YAML, with sorted keys, as kube-apiserver encodes it (apimachinery
// pkg/runtime/serializer/json). It fails, as there, when a text holds what YAML can't: a control character.
func appendYAML(dst, json []byte) ([]byte, error) {
	out, err := yaml.JSONToYAML(json)
	if err != nil {
		return dst, fault(http.StatusInternalServerError, metav1.StatusReasonUnknown, err.Error(), nil)
	}
	return append(dst, out...), nil
}
