package discovery

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// legacy returns the discovery in one document for each group and version, and their indexes.
func legacy(gs []group) []apidoc.Document {
	var docs []apidoc.Document
	core := &metav1.APIVersions{ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{}}
	core.Kind = "APIVersions"
	named := &metav1.APIGroupList{Groups: []metav1.APIGroup{}}
	named.Kind, named.APIVersion = "APIGroupList", "v1"
	for _, g := range gs {
		for _, v := range g.versions {
			docs = append(docs, document(v.root(), resourceList(v)))
			if g.name == "" {
				core.Versions = append(core.Versions, v.Version)
			}
		}
		if g.name != "" {
			api := apiGroup(g)
			named.Groups = append(named.Groups, api)
			api.Kind, api.APIVersion = "APIGroup", "v1"
			docs = append(docs, document("/apis/"+g.name, &api))
		}
	}
	return append(docs, document("/api", core), document("/apis", named))
}

func apiGroup(g group) metav1.APIGroup {
	out := metav1.APIGroup{Name: g.name}
	for _, v := range g.versions {
		out.Versions = append(out.Versions, metav1.GroupVersionForDiscovery{GroupVersion: v.String(), Version: v.Version})
	}
	out.PreferredVersion = out.Versions[0]
	return out
}

func resourceList(v groupVersion) *metav1.APIResourceList {
	list := &metav1.APIResourceList{GroupVersion: v.String()}
	list.Kind = "APIResourceList"
	if v.Group != "" {
		list.APIVersion = "v1" // the core group's list has none
	}
	for _, e := range v.entries {
		r := &e.face.Resource
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: r.Name, SingularName: e.kind.Singular, Namespaced: r.Namespaced, Kind: r.Kind,
			Verbs: e.verbs(), ShortNames: e.kind.ShortNames, Categories: e.kind.Categories,
		})
		for _, sub := range e.face.Subresources() {
			s := metav1.APIResource{Name: r.Name + "/" + sub, Namespaced: r.Namespaced, Kind: r.Kind, Verbs: subVerbs(sub)}
			if sub == "scale" {
				s.Group, s.Version, s.Kind = "autoscaling", "v1", "Scale"
			}
			list.APIResources = append(list.APIResources, s)
		}
	}
	return list
}
