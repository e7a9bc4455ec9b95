package scope

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Scope is what one edge may hold. The zero value is nothing. It is immutable.
type Scope struct{ rules []bound }

// bound is a rule for one edge.
type bound struct {
	rule  Rule
	nodes []string
}

func (b bound) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: b.rule.Group, Resource: b.rule.Resource}
}

// Same tells whether o is the scope itself, which says nothing of scopes that are equal.
func (s Scope) Same(o Scope) bool {
	return len(s.rules) == len(o.rules) && len(s.rules) > 0 && &s.rules[0] == &o.rules[0]
}

// Resources returns the resources that the edge holds in any case, sorted. Others may be had on demand: see Offers.
func (s Scope) Resources() []schema.GroupResource {
	var out []schema.GroupResource
	for _, b := range s.rules {
		if gr := b.groupResource(); !b.rule.OnDemand && !slices.Contains(out, gr) {
			out = append(out, gr)
		}
	}
	slices.SortFunc(out, func(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// View returns what the scope makes of a resource, with nothing that rules with inputs could cover: see Resolve. It fails
// when a rule selects by a field that the resource does not declare, and with ErrOutside when only wildcards cover it and
// none is for cluster-scoped resources, which it is.
func (s Scope) View(r *watchlog.Resource) (View, error) { return s.view(r, nil) }

// view is View with what inputs contribute.
func (s Scope) view(r *watchlog.Resource, known map[Input][]string) (View, error) {
	v := View{}
	var parts []string
	rules := s.rulesOf(r.GroupResource())
	for _, b := range rules {
		if b.rule.isWildcard() && (len(b.rule.Namespaces) > 0 || b.rule.NamespaceSelector != "") && !r.Namespaced {
			continue
		}
		f, err := b.compile(r, known)
		if err != nil {
			return View{}, fmt.Errorf("scope of %s: %w", r.GroupResource(), err)
		}
		v.filters = append(v.filters, f)
		parts = append(parts, b.canonical(r.GroupResource()))
		if b.isDynamic() {
			parts = append(parts, strings.Join(f.keys, " ")+" in "+strings.Join(f.namespaces, " "))
		}
	}
	if len(rules) > 0 && len(v.filters) == 0 {
		return View{}, fmt.Errorf("%s: %w", r.GroupResource(), ErrOutside)
	}
	for _, f := range v.filters {
		v.terms = append(v.terms, f.terms...)
	}
	v.terms = reduce(v.terms)
	// In another version every object has other bytes, and with other columns other cells. The rest of what the resource is
	// changes no object, but edges learn of it with the view only.
	parts = append(parts, described(r))
	v.id = identify(parts)
	return v, nil
}

// described returns all that edges are told of a resource, and how its cells are made.
func described(r *watchlog.Resource) string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and booleans can always be encoded
	}
	return r.Printer + " " + string(text)
}

// canonical returns what the rule makes of a resource in a form that equal rules share, however they come to apply.
func (b bound) canonical(gr schema.GroupResource) string {
	r := b.rule
	r.Group, r.Resource, r.OnDemand = gr.Group, gr.Resource, false
	r.Namespaces = sortedUnique(r.Namespaces)
	nodes := b.nodes
	if r.BoundToNode == "" {
		nodes = nil // they don't matter
	}
	text, err := json.Marshal(struct {
		Rule  Rule
		Nodes []string
	}{r, sortedUnique(nodes)})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(text)
}

func sortedUnique(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}

// ID says what a view is of: that of another one is another.
type ID [sha256.Size]byte

// identify returns the ID of a set of rules whatever their order.
func identify(parts []string) ID {
	return sha256.Sum256([]byte(strings.Join(sortedUnique(parts), "\n")))
}

// reduce removes terms that are there twice, and all others when one covers everything.
func reduce(terms []watchlog.Term) []watchlog.Term {
	if slices.Contains(terms, watchlog.Everything()) {
		return []watchlog.Term{watchlog.Everything()}
	}
	var out []watchlog.Term
	for _, t := range terms {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// View is what one edge may hold of one resource. It is immutable.
type View struct {
	filters []filter
	terms   []watchlog.Term
	id      ID
}

// Terms returns index terms that cover the view: every object of it has at least one of them.
func (v View) Terms() []watchlog.Term { return v.terms }

// Hash identifies what the view is of: equal for resources of which edges are told the same (version, kinds, fields,
// columns) and equal rules, whatever their order. It is short because edges send it with each of their positions: it tells
// configurations apart, and is nobody's secret.
func (v View) Hash() string { return base64.RawURLEncoding.EncodeToString(v.id[:8]) }

// ID identifies what the view is of, as Hash does, whatever somebody may have tried to make equal.
func (v View) ID() ID { return v.id }

// Matches tells whether an object is in the view.
func (v View) Matches(o *watchlog.Object) bool {
	for i := range v.filters {
		if v.filters[i].matches(o) {
			return true
		}
	}
	return false
}

// Transition returns what an event means to who holds the view: the object's new version when it is in the view, its
// removal at the event's position when it was and no longer is, and false when it neither was nor is.
func (v View) Transition(e *watchlog.Event) (watchlog.Op, bool) {
	op := watchlog.Op{Key: e.Object.Key(), Rev: e.Rev}
	if e.Type != watchlog.Deleted && v.Matches(e.Object) {
		op.Object = e.Object
		return op, true
	}
	return op, e.Prev != nil && v.Matches(e.Prev)
}
