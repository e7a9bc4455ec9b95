package embedded

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// target is what the path of a request names.
type target struct {
	resource        schema.GroupVersionResource
	namespace, name string // "" when the path has none
	sub             string // subresource
}

// parseTarget reads a path of the form /api/v1/… or /apis/GROUP/VERSION/…, followed by RESOURCE[/NAME[/SUBRESOURCE]] or
// namespaces/NAMESPACE/RESOURCE[/NAME[/SUBRESOURCE]]. ok is false for any other path.
func parseTarget(path string) (t target, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		t.resource.Version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		t.resource.Group, t.resource.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return target{}, false
	}
	if parts[0] == "namespaces" && len(parts) >= 3 && !partOfNamespace(parts[2:]) {
		t.namespace, parts = parts[1], parts[2:]
	}
	t.resource.Resource = parts[0]
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.sub = strings.Join(parts[2:], "/")
	}
	return t, true
}

// partOfNamespace tells whether what follows a namespace in a path is a subresource of it rather than a resource in it.
func partOfNamespace(rest []string) bool {
	return len(rest) == 1 && (rest[0] == "status" || rest[0] == "finalize")
}
