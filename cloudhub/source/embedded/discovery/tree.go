// Package discovery writes the documents with which the embedded cloud describes its API: discovery, aggregated and
// legacy, OpenAPI v3 and the version.
package discovery

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
)

// group is an API group with its versions, the preferred one first.
type group struct {
	name     string
	versions []groupVersion
}

// groupVersion is a version of a group with its resources, by name.
type groupVersion struct {
	schema.GroupVersion
	entries []entry
}

// entry is a resource in one version.
type entry struct {
	kind *catalog.Kind
	face *catalog.Face
}

// root returns the path under which the version's resources are served.
func (v *groupVersion) root() string {
	if v.Group == "" {
		return "/api/" + v.Version
	}
	return "/apis/" + v.Group + "/" + v.Version
}

// groups sorts what is served of kinds into groups: the built-in ones in their order, then the others by name.
func groups(kinds []*catalog.Kind) []group {
	found := map[schema.GroupVersion][]entry{}
	for _, k := range kinds {
		for _, f := range k.Faces {
			if f.Served {
				gv := f.GVK().GroupVersion()
				found[gv] = append(found[gv], entry{k, f})
			}
		}
	}
	var out []group
	for gv, entries := range found {
		slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.face.Resource.Name, b.face.Resource.Name) })
		i := slices.IndexFunc(out, func(g group) bool { return g.name == gv.Group })
		if i < 0 {
			i = len(out)
			out = append(out, group{name: gv.Group})
		}
		out[i].versions = append(out[i].versions, groupVersion{gv, entries})
	}
	order := catalog.GroupOrder()
	slices.SortFunc(out, func(a, b group) int {
		return cmp.Or(cmp.Compare(rank(order, a.name), rank(order, b.name)), cmp.Compare(a.name, b.name))
	})
	for _, g := range out {
		slices.SortFunc(g.versions, func(a, b groupVersion) int {
			return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
		})
	}
	return out
}

// rank returns where a group stands among the built-in ones, or behind them.
func rank(order []string, name string) int {
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}

// The verbs of resources, in the order of kube-apiserver.
var (
	builtinVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	singleVerbs  = []string{"create", "delete", "get", "list", "patch", "update", "watch"}
	customVerbs  = []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	partVerbs    = []string{"get", "patch", "update"}
)

func (e entry) verbs() []string {
	switch {
	case e.kind.Custom():
		return customVerbs
	case e.kind.Single:
		return singleVerbs
	default:
		return builtinVerbs
	}
}

// subVerbs returns the verbs of a subresource.
func subVerbs(sub string) []string {
	if sub == "finalize" {
		return []string{"update"}
	}
	return partVerbs
}
