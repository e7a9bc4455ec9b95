package authz

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/tombolo-sync/tombolo/internal/access"
)

// subject is whom a binding names.
type subject struct {
	group bool
	name  string
}

// grant is what a binding gives: the rules of a role, or why there are none.
type grant struct {
	rules   []rbacv1.PolicyRule
	missing string
}

// grants are those of a subject.
type grants struct {
	everywhere []grant
	within     map[string][]grant // by namespace
}

// index finds what subjects may do. It is not changed once it is made.
type index struct {
	marks [kinds]mark // of what it was made of
	roles [2]decoded[role]
	// bindings are kept, as roles are, so that the next index decodes no more than what has changed.
	bindings [2]decoded[binding]
	subjects map[subject]*grants
	absent   string // the resources that the edge has nothing of, for a message; "" if it has all
}

// find looks for a rule that allows a request. When there is none, missing are the roles that were looked for in vain.
func (x *index) find(r *access.Request) (allowed bool, missing []string) {
	if allowed, missing = x.subjects[subject{name: r.User.Name}].find(r, missing); allowed {
		return true, nil
	}
	for _, g := range r.User.Groups {
		if allowed, missing = x.subjects[subject{group: true, name: g}].find(r, missing); allowed {
			return true, nil
		}
	}
	return false, missing
}

func (g *grants) find(r *access.Request, missing []string) (bool, []string) {
	if g == nil {
		return false, missing
	}
	for _, part := range [...][]grant{g.everywhere, g.within[r.Namespace]} {
		for i := range part {
			if part[i].missing != "" {
				missing = append(missing, part[i].missing)
			}
			for k := range part[i].rules {
				if allows(&part[i].rules[k], r) {
					return true, missing
				}
			}
		}
	}
	return false, missing
}

// add takes a binding into the index.
func (x *index) add(b *binding, g grant) {
	for _, s := range b.subjects(b.namespace) {
		to := x.subjects[s]
		if to == nil {
			to = &grants{}
			x.subjects[s] = to
		}
		if b.namespace == "" {
			to.everywhere = append(to.everywhere, g)
			continue
		}
		if to.within == nil {
			to.within = map[string][]grant{}
		}
		to.within[b.namespace] = append(to.within[b.namespace], g)
	}
}

// grant returns what a binding gives.
func (x *index) grant(b *binding) grant {
	key, which, name := b.ref.Name, cluster, "clusterrole"
	switch b.ref.Kind {
	case "ClusterRole":
	case "Role":
		key, which, name = b.namespace+"/"+b.ref.Name, namespaced, "role"
	default:
		return grant{missing: `unsupported role reference kind: "` + b.ref.Kind + `"`}
	}
	if r, ok := x.roles[which][key]; ok {
		return grant{rules: r.value.rules}
	}
	return grant{missing: name + `.rbac.authorization.k8s.io "` + b.ref.Name + `" not found`}
}
