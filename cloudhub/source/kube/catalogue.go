package kube

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// catalogue is what the discovery documents say about resources. It is immutable.
type catalogue struct {
	served map[schema.GroupResource][]served // versions, preferred first; never empty
	stale  map[string]bool                   // groups of which a version could not be asked about
}

// served is a resource in one version.
type served struct {
	version    string
	kind       string
	namespaced bool
	verbs      []string
}

func (s served) watchable() bool {
	return slices.Contains(s.verbs, "list") && slices.Contains(s.verbs, "watch")
}

// lookup returns the preferred version of a resource.
func (c *catalogue) lookup(gr schema.GroupResource) (served, bool) {
	v, ok := c.served[gr]
	if !ok {
		return served{}, false
	}
	return v[0], true
}

// version returns a resource in a version, if it is served.
func (c *catalogue) version(gr schema.GroupResource, version string) (served, bool) {
	for _, s := range c.served[gr] {
		if s.version == version {
			return s, true
		}
	}
	return served{}, false
}

// newCatalogue reads the discovery documents of a set: the aggregated ones, or the legacy ones of a server without.
func newCatalogue(get func(path, accept string) (apidoc.Document, bool)) (*catalogue, error) {
	c := &catalogue{served: map[schema.GroupResource][]served{}, stale: map[string]bool{}}
	for _, root := range []string{"/api", "/apis"} {
		if doc, ok := get(root, acceptAggregated); ok {
			if err := c.addAggregated(doc); err != nil {
				return nil, err
			}
			continue
		}
		if err := c.addLegacy(root, get); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// aggregatedGroups returns what an aggregated discovery says of each group.
func aggregatedGroups(doc apidoc.Document) (map[string]json.RawMessage, error) {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := decode(doc, &list); err != nil {
		return nil, fmt.Errorf("aggregated discovery at %s: %w", doc.Path, err)
	}
	groups := make(map[string]json.RawMessage, len(list.Items))
	for _, raw := range list.Items {
		var item metav1.PartialObjectMetadata
		if err := json.Unmarshal(raw, &item); err != nil {
			return nil, fmt.Errorf("aggregated discovery at %s: %w", doc.Path, err)
		}
		groups[item.Name] = raw
	}
	return groups, nil
}

func (c *catalogue) addAggregated(doc apidoc.Document) error {
	var list apidiscovery.APIGroupDiscoveryList
	if err := decode(doc, &list); err != nil {
		return fmt.Errorf("aggregated discovery at %s: %w", doc.Path, err)
	}
	for _, group := range list.Items {
		for _, v := range group.Versions {
			if v.Freshness == apidiscovery.DiscoveryFreshnessStale {
				c.stale[group.Name] = true
			}
			for _, r := range v.Resources {
				if r.ResponseKind == nil {
					continue // has subresources only
				}
				c.add(group.Name, r.Resource, served{
					version: v.Version, kind: r.ResponseKind.Kind,
					namespaced: r.Scope == apidiscovery.ScopeNamespace, verbs: r.Verbs,
				})
			}
		}
	}
	return nil
}

func (c *catalogue) addLegacy(root string, get func(path, accept string) (apidoc.Document, bool)) error {
	index, ok := get(root, "")
	if !ok {
		return nil
	}
	versions, err := groupVersions(index)
	if err != nil {
		return err
	}
	for _, gv := range versions {
		doc, ok := get(versionPath(gv), "")
		if !ok {
			c.stale[gv.Group] = true
			continue
		}
		var list metav1.APIResourceList
		if err := decode(doc, &list); err != nil {
			return fmt.Errorf("discovery at %s: %w", doc.Path, err)
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") { // not a subresource
				c.add(gv.Group, r.Name, served{version: gv.Version, kind: r.Kind, namespaced: r.Namespaced, verbs: r.Verbs})
			}
		}
	}
	return nil
}

func (c *catalogue) add(group, resource string, s served) {
	gr := schema.GroupResource{Group: group, Resource: resource}
	c.served[gr] = append(c.served[gr], s)
}

// groupVersions returns what a legacy index (/api or /apis) names, in each group the preferred version first.
func groupVersions(index apidoc.Document) ([]schema.GroupVersion, error) {
	var body struct {
		Versions []string          `json:"versions"` // of /api
		Groups   []metav1.APIGroup `json:"groups"`   // of /apis
	}
	if err := decode(index, &body); err != nil {
		return nil, fmt.Errorf("discovery at %s: %w", index.Path, err)
	}
	var all []schema.GroupVersion
	for _, v := range body.Versions {
		all = append(all, schema.GroupVersion{Version: v})
	}
	for _, g := range body.Groups {
		preferred := schema.GroupVersion{Group: g.Name, Version: g.PreferredVersion.Version}
		if preferred.Version != "" {
			all = append(all, preferred)
		}
		for _, v := range g.Versions {
			if gv := (schema.GroupVersion{Group: g.Name, Version: v.Version}); gv != preferred {
				all = append(all, gv)
			}
		}
	}
	return all, nil
}

// versionPath returns the path of a group version's resources.
func versionPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.Group + "/" + gv.Version
}

// decode reads a document's JSON.
func decode(doc apidoc.Document, into any) error {
	text, err := doc.Body.Text()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
