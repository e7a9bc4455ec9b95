package litesrv

import (
	"iter"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// selection is which objects of a resource a LIST or WATCH is about.
type selection struct {
	selectors
	res       *watchlog.Resource
	namespace string // only this one; "" means all
	key       string // only this object; "" means any
}

// newSelection combines the namespace of the path with the selectors. As in kube-apiserver (pkg/registry/generic/
// registry/store.go) the selectors narrow what is looked at to a namespace or a key, except on the further pages of a
// list, whose tokens are relative to what the path says.
func newSelection(r *watchlog.Resource, namespace string, o *listOptions) selection {
	s := selection{selectors: compile(r, o.LabelSelector, o.FieldSelector), res: r, namespace: namespace}
	if !o.Watch && o.Continue != "" {
		return s
	}
	if ns, ok := s.exactField(fieldNamespace); ok && namespace == "" && r.Namespaced && isNamespace(ns) {
		s.namespace = ns
	}
	name, ok := s.exactField(fieldName)
	if ok && (s.namespace != "" || !r.Namespaced) && len(content.IsPathSegmentName(name)) == 0 {
		s.key = watchlog.KeyOf(s.namespace, name)
	}
	return s
}

func isNamespace(name string) bool { return len(validation.IsDNS1123Label(name)) == 0 }

// matches tells whether an object is selected. It allocates nothing.
func (s *selection) matches(o *watchlog.Object) bool {
	if s.key != "" && o.Key() != s.key || s.namespace != "" && o.Namespace() != s.namespace {
		return false
	}
	return s.selectors.matches(o)
}

// base is the term of everything that is looked at before the selectors.
func (s *selection) base() watchlog.Term {
	switch {
	case s.key != "":
		return watchlog.WithKey(s.key)
	case s.namespace != "":
		return watchlog.InNamespace(s.namespace)
	default:
		return watchlog.Everything()
	}
}

// term is the narrowest term that has all selected objects.
func (s *selection) term(in watchlog.Snapshot) watchlog.Term {
	best := s.base()
	if s.key != "" {
		return best
	}
	least := in.CountFrom(best, "")
	for _, t := range s.terms(s.res) {
		if n := in.CountFrom(t, ""); n < least {
			best, least = t, n
		}
	}
	return best
}

// objects returns the selected objects of a snapshot whose key is from or later, in key order.
func (s *selection) objects(in watchlog.Snapshot, from string) iter.Seq[*watchlog.Object] {
	all := in.Select(s.term(in), from)
	if s.empty() {
		return all
	}
	return func(yield func(*watchlog.Object) bool) {
		for o := range all {
			if s.matches(o) && !yield(o) {
				return
			}
		}
	}
}

// indexed returns the field test that kube-apiserver would answer by an index of its own: it keeps one for the nodes of
// pods. It decides whether a page that is full says that there are more.
func (s *selection) indexed() (watchlog.Term, bool) {
	if s.res.Group != "" || s.res.Name != "pods" {
		return watchlog.Term{}, false
	}
	i := s.res.FieldIndex("spec.nodeName")
	if i < 0 || !s.res.Fields[i].Indexed {
		return watchlog.Term{}, false
	}
	node, ok := s.exactField(i)
	return watchlog.WithField("spec.nodeName", node), ok
}
