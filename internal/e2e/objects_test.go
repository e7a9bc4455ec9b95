//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// configMap is one to create.
func configMap(namespace, name, team, data string) string {
	return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"labels":{"team":%q}},"data":{"text":%q}}`,
		name, namespace, team, data)
}

// secret is one to create.
func secret(namespace, name, text string) string {
	return fmt.Sprintf(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":%q,"namespace":%q},"type":"Opaque","stringData":{"text":%q}}`,
		name, namespace, text)
}

// node is one to create.
func node(name string) string {
	return fmt.Sprintf(`{"kind":"Node","apiVersion":"v1","metadata":{"name":%q,"labels":{"kubernetes.io/hostname":%q}}}`, name, name)
}

// pod is one to create, bound to a node.
func pod(namespace, name, node, app string) string {
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"labels":{"app":%q}},`+
		`"spec":{"nodeName":%q,"terminationGracePeriodSeconds":0,"automountServiceAccountToken":false,`+
		`"containers":[{"name":"main","image":"registry.example/app:1.0","env":[{"name":"POD","value":%q}],`+
		`"resources":{"requests":{"cpu":"10m","memory":"16Mi"}}}]}}`, name, namespace, app, node, name)
}

// widget is a custom resource's object, of widgetDefinition.
func widget(namespace, name, color string) string {
	return fmt.Sprintf(`{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":%q,"namespace":%q},"spec":{"color":%q,"size":3}}`,
		name, namespace, color)
}

// widgetDefinition defines widgets.ex.io.
const widgetDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.ex.io"},
"spec":{"group":"ex.io","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
"versions":[{"name":"v1","served":true,"storage":true,"selectableFields":[{"jsonPath":".spec.color"}],
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"color":{"type":"string"},"size":{"type":"integer"}}}}}}}]}}`

var definitions = resource{"customresourcedefinitions", "/apis/apiextensions.k8s.io/v1", "customresourcedefinitions"}

// touched is the object with a new annotation, and every so often another team.
func touched(body string, rng *rand.Rand) ([]byte, error) {
	var object map[string]any
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("touch object: %w", err)
	}
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations["touched"] = fmt.Sprint(rng.Uint32())
	if labels, ok := metadata["labels"].(map[string]any); ok && rng.IntN(3) == 0 {
		labels["team"] = []string{"a", "b"}[rng.IntN(2)]
	}
	return json.Marshal(object)
}
