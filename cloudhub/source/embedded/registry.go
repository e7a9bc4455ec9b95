package embedded

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
)

// registry is the set of resources that the cloud has at one time. It is immutable.
type registry struct {
	all []*resource // built-in ones first, then custom ones by name

	byGVR map[schema.GroupVersionResource]face // what is served
	byGR  map[schema.GroupResource]face        // its preferred version
	// groups are the groups with something served; the value tells whether it is built in.
	groups map[string]bool

	namespaces, definitions, events *resource
}

func newRegistry(all []*resource) *registry {
	r := &registry{
		all:    all,
		byGVR:  map[schema.GroupVersionResource]face{},
		byGR:   map[schema.GroupResource]face{},
		groups: map[string]bool{},
	}
	for _, res := range all {
		for i := range res.kind.Faces {
			r.add(face{res, i})
		}
		switch res.name {
		case "namespaces":
			r.namespaces = res
		case "events":
			r.events = res
		case "customresourcedefinitions.apiextensions.k8s.io":
			r.definitions = res
		}
	}
	return r
}

func (r *registry) add(f face) {
	d := f.def()
	if !d.Served {
		return
	}
	r.byGVR[d.Resource.GroupVersionResource()] = f
	r.groups[d.Resource.Group] = !d.Resource.Custom
	was, ok := r.byGR[f.group()]
	if !ok || version.CompareKubeAwareVersionStrings(d.Resource.Version, was.def().Resource.Version) > 0 {
		r.byGR[f.group()] = f
	}
}

// kinds returns the kinds of all resources.
func (r *registry) kinds() []*catalog.Kind {
	kinds := make([]*catalog.Kind, len(r.all))
	for i, res := range r.all {
		kinds[i] = res.kind
	}
	return kinds
}

// defined returns the resource that a CustomResourceDefinition of this name declares, nil when there is none.
func (r *registry) defined(name string) *resource {
	for _, res := range r.all {
		if res.kind.DefinitionName == name {
			return res
		}
	}
	return nil
}

// with returns a registry of the built-in resources of r and these custom ones.
func (r *registry) with(custom []*resource) *registry {
	all := slices.DeleteFunc(slices.Clone(r.all), func(res *resource) bool { return res.kind.Custom() })
	slices.SortFunc(custom, func(a, b *resource) int { return cmp.Compare(a.name, b.name) })
	return newRegistry(append(all, custom...))
}

// has tells whether res is still what r has: a kind that was redefined or removed is not.
func (r *registry) has(res *resource) bool { return slices.Contains(r.all, res) }
