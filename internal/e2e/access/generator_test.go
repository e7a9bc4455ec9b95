//go:build e2e

package access

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/internal/access"
)

// generator makes roles, bindings and requests of few words, so that they often meet.
type generator struct{ random *rand.Rand }

var (
	verbs     = []string{"get", "list", "watch", "create", "update", "delete", "impersonate", "*"}
	groups    = []string{"", "apps", "ex.io", "*"}
	resources = []string{"pods", "pods/log", "*/log", "*/scale", "deployments", "deployments/scale", "secrets", "*"}
	names     = []string{"x", "y"}
	urls      = []string{"/metrics", "/logs/*", "/logs/a", "/api*", "*", "/healthz/", "/x**"}
	people    = []string{"ann", "bob", "system:serviceaccount:a:till", "system:serviceaccount:b:till", "system:anonymous"}
	teams     = []string{"team", "crew", "system:authenticated", "system:serviceaccounts:a"}
	spaces    = []string{"a", "b"}
	subjects  = []rbacv1.Subject{
		{Kind: "User", Name: "ann", APIGroup: rbacv1.GroupName}, {Kind: "User", Name: "bob", APIGroup: rbacv1.GroupName},
		{Kind: "Group", Name: "team", APIGroup: rbacv1.GroupName}, {Kind: "Group", Name: "crew", APIGroup: rbacv1.GroupName},
		{Kind: "ServiceAccount", Name: "till", Namespace: "a"}, {Kind: "ServiceAccount", Name: "till", Namespace: "b"},
		{Kind: "User", Name: "system:serviceaccount:a:till", APIGroup: rbacv1.GroupName},
		{Kind: "Group", Name: "system:serviceaccounts:a", APIGroup: rbacv1.GroupName},
	}
)

// some returns a few of a list.
func (g *generator) some(list []string) []string {
	n := 1 + g.random.IntN(4)
	out := make([]string, n)
	for i := range out {
		out[i] = g.one(list)
	}
	return out
}

func (g *generator) one(list []string) string { return list[g.random.IntN(len(list))] }

func (g *generator) rules(paths bool) (out []rbacv1.PolicyRule) {
	for range 1 + g.random.IntN(3) {
		if paths && g.random.IntN(3) == 0 {
			out = append(out, rbacv1.PolicyRule{Verbs: g.some(verbs), NonResourceURLs: g.some(urls)})
			continue
		}
		r := rbacv1.PolicyRule{Verbs: g.some(verbs), APIGroups: g.some(groups), Resources: g.some(resources)}
		if g.random.IntN(3) == 0 {
			r.ResourceNames = g.some(names)
		}
		out = append(out, r)
	}
	return out
}

// write replaces what there is by other roles and bindings.
func (g *generator) write(k *kube, world int) {
	k.t.Helper()
	const api = "/apis/rbac.authorization.k8s.io/v1"
	if world > 0 {
		for _, s := range spaces {
			k.must(http.MethodDelete, api+"/namespaces/"+s+"/rolebindings", "")
			k.must(http.MethodDelete, api+"/namespaces/"+s+"/roles", "")
		}
		k.must(http.MethodDelete, api+"/clusterrolebindings?labelSelector=made=here", "")
		k.must(http.MethodDelete, api+"/clusterroles?labelSelector=made=here", "")
	}
	post := func(path string, object any) {
		raw, err := json.Marshal(object)
		if err != nil {
			k.t.Fatal(err)
		}
		k.must(http.MethodPost, api+path, string(raw))
	}
	meta := func(i int) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: fmt.Sprintf("made-%d-%d", world, i), Labels: map[string]string{"made": "here"}}
	}
	ref := func(kind string, n int) rbacv1.RoleRef { // one of them is not there
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: meta(g.random.IntN(n + 1)).Name}
	}
	named := func() (out []rbacv1.Subject) {
		for range 1 + g.random.IntN(2) {
			out = append(out, subjects[g.random.IntN(len(subjects))])
		}
		return out
	}
	for i := range 6 {
		post("/clusterroles", rbacv1.ClusterRole{ObjectMeta: meta(i), Rules: g.rules(true)})
	}
	for i := range 3 {
		post("/clusterrolebindings", rbacv1.ClusterRoleBinding{ObjectMeta: meta(i), Subjects: named(), RoleRef: ref("ClusterRole", 6)})
	}
	for _, s := range spaces {
		for i := range 4 {
			post("/namespaces/"+s+"/roles", rbacv1.Role{ObjectMeta: meta(i), Rules: g.rules(false)})
		}
		for i := range 8 {
			kind, n := "Role", 4
			if i%2 == 1 {
				kind, n = "ClusterRole", 6
			}
			post("/namespaces/"+s+"/rolebindings", rbacv1.RoleBinding{ObjectMeta: meta(i), Subjects: named(), RoleRef: ref(kind, n)})
		}
	}
}

func (g *generator) request() *access.Request {
	r := &access.Request{User: &access.User{Name: people[g.random.IntN(len(people))]}}
	for _, t := range teams {
		if g.random.IntN(4) == 0 {
			r.User.Groups = append(r.User.Groups, t)
		}
	}
	if g.random.IntN(60) == 0 {
		r.User.Groups = append(r.User.Groups, access.Masters)
	}
	r.Verb = verbs[g.random.IntN(len(verbs)-1)]
	if g.random.IntN(6) == 0 {
		r.Path = []string{"/metrics", "/logs/a", "/logs/", "/logs", "/api", "/apis/apps", "/healthz", "/x", "/version"}[g.random.IntN(9)]
		return r
	}
	r.Group = groups[g.random.IntN(len(groups)-1)]
	r.Resource = []string{"pods", "deployments", "secrets", "pods/log"}[g.random.IntN(4)]
	r.Subresource = []string{"", "", "log", "scale", "log/x"}[g.random.IntN(5)]
	r.Namespace = []string{"", "a", "b"}[g.random.IntN(3)]
	r.Name = []string{"", "x", "y", "z"}[g.random.IntN(4)]
	return r
}
