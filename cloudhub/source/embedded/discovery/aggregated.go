package discovery

import (
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// Aggregated is the media type of aggregated discovery, as clients ask for it and as it is answered.
const Aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// aggregated returns the discovery of all groups in one document each for /api and /apis.
func aggregated(gs []group) []apidoc.Document {
	var core, named []apidiscovery.APIGroupDiscovery
	for _, g := range gs {
		d := apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
		for _, v := range g.versions {
			d.Versions = append(d.Versions, aggregatedVersion(v))
		}
		if g.name == "" {
			core = append(core, d)
		} else {
			named = append(named, d)
		}
	}
	return []apidoc.Document{aggregatedDocument("/api", core), aggregatedDocument("/apis", named)}
}

func aggregatedDocument(path string, items []apidiscovery.APIGroupDiscovery) apidoc.Document {
	list := &apidiscovery.APIGroupDiscoveryList{Items: items}
	list.Kind, list.APIVersion = "APIGroupDiscoveryList", "apidiscovery.k8s.io/v2"
	d, _ := tagged(path, list)
	d.Accept, d.MediaType = Aggregated, Aggregated
	return d
}

func aggregatedVersion(v groupVersion) apidiscovery.APIVersionDiscovery {
	out := apidiscovery.APIVersionDiscovery{Version: v.Version, Freshness: apidiscovery.DiscoveryFreshnessCurrent}
	for _, e := range v.entries {
		r := apidiscovery.APIResourceDiscovery{
			Resource:         e.face.Resource.Name,
			ResponseKind:     responseKind(e),
			Scope:            apidiscovery.ScopeCluster,
			SingularResource: e.kind.Singular,
			Verbs:            e.verbs(),
			ShortNames:       e.kind.ShortNames,
			Categories:       e.kind.Categories,
		}
		if e.face.Resource.Namespaced {
			r.Scope = apidiscovery.ScopeNamespace
		}
		for _, sub := range e.face.Subresources() {
			s := apidiscovery.APISubresourceDiscovery{Subresource: sub, ResponseKind: responseKind(e), Verbs: subVerbs(sub)}
			if sub == "scale" {
				s.ResponseKind = &metav1.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}
			}
			r.Subresources = append(r.Subresources, s)
		}
		out.Resources = append(out.Resources, r)
	}
	return out
}

// responseKind returns the kind as kube-apiserver shows it: in full for custom resources, the rest only by its name.
func responseKind(e entry) *metav1.GroupVersionKind {
	if !e.kind.Custom() {
		return &metav1.GroupVersionKind{Kind: e.face.Resource.Kind}
	}
	gvk := metav1.GroupVersionKind(e.face.GVK())
	return &gvk
}
