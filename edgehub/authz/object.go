package authz

import (
	"encoding/json"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/tombolo-sync/tombolo/internal/access"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// The two of roles, and of bindings.
const (
	cluster = iota
	namespaced
)

// role is a Role or a ClusterRole; the rules of an aggregated one are in it.
type role struct{ rules []rbacv1.PolicyRule }

// binding is a RoleBinding, or with no namespace a ClusterRoleBinding.
type binding struct {
	namespace string
	ref       rbacv1.RoleRef
	named     []rbacv1.Subject
}

// subjects returns whom a binding names. A service account is the user that it is.
func (b *binding) subjects(namespace string) []subject {
	var out []subject
	for _, s := range b.named {
		switch s.Kind {
		case rbacv1.UserKind:
			out = append(out, subject{name: s.Name})
		case rbacv1.GroupKind:
			out = append(out, subject{group: true, name: s.Name})
		case rbacv1.ServiceAccountKind:
			in := s.Namespace
			if in == "" {
				in = namespace
			}
			if in != "" {
				out = append(out, subject{name: access.ServiceAccountUser(in, s.Name)})
			}
		}
	}
	return out
}

// decoded are objects by key, with the revision that they were decoded at.
type decoded[T any] map[string]struct {
	rev   uint64
	value T
}

// decode returns the objects of a snapshot, those of before where nothing has changed. What can't be read is left out, and
// the first such error returned beside the others: rights that nobody can read are none.
func decode[T any](s watchlog.Snapshot, old decoded[T], read func(*watchlog.Object) (T, error)) (decoded[T], error) {
	out := make(decoded[T], s.Len())
	var failed error
	for o := range s.All("") {
		e, ok := old[o.Key()]
		if !ok || e.rev != o.Rev() {
			var err error
			if e.value, err = read(o); err != nil {
				if failed == nil {
					failed = fmt.Errorf("%s %s: %w", s.Resource().GroupResource(), o.Key(), err)
				}
				continue
			}
			e.rev = o.Rev()
		}
		out[o.Key()] = e
	}
	return out, failed
}

func readRole(o *watchlog.Object) (role, error) {
	var v rbacv1.ClusterRole
	err := json.Unmarshal(o.JSON(), &v)
	return role{v.Rules}, err
}

func readBinding(o *watchlog.Object) (binding, error) {
	var v rbacv1.RoleBinding
	err := json.Unmarshal(o.JSON(), &v)
	return binding{namespace: o.Namespace(), ref: v.RoleRef, named: v.Subjects}, err
}
