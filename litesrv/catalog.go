package litesrv

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// kind is what discovery says about a resource.
type kind struct {
	namespaced   bool
	verbs        []string
	subresources map[string][]string // by name, their verbs, which are not nil
}

// catalog is what exists in the cloud according to its discovery documents. It is immutable.
type catalog struct {
	kinds map[schema.GroupVersionResource]kind
	// groups holds the known groups but the core one.
	groups  map[string]bool
	openAPI bool            // there are OpenAPI documents, in whatever version
	since   time.Time       // when the documents were as they are
	changed <-chan struct{} // closed when the catalog is out of date
}

// builtinGroups are the groups that kube-apiserver 1.37 has of its own. Discovery doesn't tell them from groups of CRDs.
var builtinGroups = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps", "authentication.k8s.io",
	"authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io",
	"events.k8s.io", "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io",
	"policy", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io",
	"storagemigration.k8s.io",
}

// catalog returns the current catalog, made anew when the documents have changed.
func (s *Server) catalog() *catalog {
	if c := s.known.Load(); c != nil {
		select {
		case <-c.changed:
		default:
			return c
		}
	}
	docs := s.cfg.Backend.Documents()
	c := newCatalog(docs)
	s.known.Store(c)
	return c
}

// newCatalog reads the discovery documents. One that can't be read is as good as absent.
func newCatalog(docs *apidoc.Set) *catalog {
	c := &catalog{
		kinds: map[schema.GroupVersionResource]kind{}, groups: map[string]bool{}, since: time.Now(), changed: docs.Changed(),
	}
	for _, d := range docs.All() {
		switch {
		case strings.HasPrefix(d.Path, "/openapi/"):
			c.openAPI = true
		case d.Accept == "" && (strings.HasPrefix(d.Path, "/apis/") || strings.HasPrefix(d.Path, "/api/")):
			c.addLegacy(d)
		case strings.Contains(d.Accept, "as=APIGroupDiscoveryList") && strings.HasPrefix(d.Accept, "application/json"):
			c.addAggregated(d)
		}
	}
	return c
}

// empty tells whether nothing is known yet.
func (c *catalog) empty() bool { return len(c.kinds) == 0 }

// builtin tells whether the path of a resource that doesn't exist belongs to a group whose 404 is a Status. Groups
// served from CRDs, and unknown ones, have a page of text.
func (c *catalog) builtin(t target) bool {
	return t.core || c.groups[t.group] && slices.Contains(builtinGroups, t.group)
}

// addLegacy reads an APIResourceList.
func (c *catalog) addLegacy(d apidoc.Document) {
	var list metav1.APIResourceList
	text, err := d.Body.Text()
	if err != nil || json.Unmarshal(text, &list) != nil || list.Kind != "APIResourceList" {
		return
	}
	gv, err := schema.ParseGroupVersion(list.GroupVersion)
	if err != nil {
		return
	}
	c.groups[gv.Group] = true
	for i := range list.APIResources {
		r := &list.APIResources[i]
		name, sub, _ := strings.Cut(r.Name, "/")
		k := c.kinds[gv.WithResource(name)]
		if sub == "" {
			k.namespaced, k.verbs = r.Namespaced, r.Verbs
		} else {
			k.addSubresource(sub, r.Verbs)
		}
		c.kinds[gv.WithResource(name)] = k
	}
}

// addAggregated reads an APIGroupDiscoveryList.
func (c *catalog) addAggregated(d apidoc.Document) {
	var list apidiscovery.APIGroupDiscoveryList
	text, err := d.Body.Text()
	if err != nil || json.Unmarshal(text, &list) != nil {
		return
	}
	for i := range list.Items {
		g := &list.Items[i]
		c.groups[g.Name] = true
		for j := range g.Versions {
			gv := schema.GroupVersion{Group: g.Name, Version: g.Versions[j].Version}
			for _, r := range g.Versions[j].Resources {
				c.addDiscovered(gv.WithResource(r.Resource), &r)
			}
		}
	}
}

func (c *catalog) addDiscovered(gvr schema.GroupVersionResource, r *apidiscovery.APIResourceDiscovery) {
	k := kind{namespaced: r.Scope == apidiscovery.ScopeNamespace, verbs: r.Verbs}
	for i := range r.Subresources {
		k.addSubresource(r.Subresources[i].Subresource, r.Subresources[i].Verbs)
	}
	if len(r.Subresources) == 0 {
		k.subresources = c.kinds[gvr].subresources
	}
	c.kinds[gvr] = k
}

// addSubresource notes a subresource and its verbs.
func (k *kind) addSubresource(name string, verbs []string) {
	if k.subresources == nil {
		k.subresources = map[string][]string{}
	}
	if verbs == nil {
		verbs = []string{}
	}
	k.subresources[name] = verbs
}
