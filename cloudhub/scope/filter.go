package scope

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// filter is a rule compiled for a resource: all its conditions must hold.
type filter struct {
	namespaces []string // none: any, unless limited
	limited    bool     // to namespaces, though there may be none
	keys       []string // sorted: the only ones, unless nil
	labels     labels.Selector
	conditions []condition
	terms      []watchlog.Term // every object that matches has at least one of them
}

// condition is a comparison of one field.
type condition struct {
	get    func(*watchlog.Object) string
	values []string
	not    bool // the value must be none of values
}

func (f *filter) matches(o *watchlog.Object) bool {
	if (f.limited || len(f.namespaces) > 0) && !slices.Contains(f.namespaces, o.Namespace()) {
		return false
	}
	if f.keys != nil {
		if _, there := slices.BinarySearch(f.keys, o.Key()); !there {
			return false
		}
	}
	for i := range f.conditions {
		c := &f.conditions[i]
		if slices.Contains(c.values, c.get(o)) == c.not {
			return false
		}
	}
	return f.labels.Matches(o.Labels())
}

// compile compiles the rule for a resource, with what its inputs contribute; for no resource it only finds out whether the
// rule can be right.
func (b bound) compile(r *watchlog.Resource, known map[Input][]string) (filter, error) {
	f := filter{namespaces: b.rule.Namespaces}
	var err error
	if f.labels, err = labels.Parse(b.rule.LabelSelector); err != nil {
		return f, fmt.Errorf("labelSelector: %w", err)
	}
	selector, err := fields.ParseSelector(b.rule.FieldSelector)
	if err != nil {
		return f, fmt.Errorf("fieldSelector: %w", err)
	}
	if r == nil {
		return f, nil
	}
	if b.isDynamic() {
		f.take(b, r, known)
	}
	if (f.limited || len(f.namespaces) > 0) && !r.Namespaced {
		return f, fmt.Errorf("%s have no namespaces", r.GroupResource())
	}
	terms := newChoice(r)
	for _, req := range selector.Requirements() {
		not := req.Operator == selection.NotEquals
		if err := f.add(r, req.Field, []string{req.Value}, not); err != nil {
			return f, fmt.Errorf("fieldSelector: %w", err)
		}
		if !not {
			terms.field(req.Field, []string{req.Value}, f.namespaces)
		}
	}
	if b.rule.BoundToNode != "" {
		if err := f.add(r, b.rule.BoundToNode, b.nodes, false); err != nil {
			return f, fmt.Errorf("boundToNode: %w", err)
		}
		terms.field(b.rule.BoundToNode, b.nodes, f.namespaces)
	}
	terms.labels(f.labels)
	terms.namespaces(f.namespaces)
	f.terms = terms.best
	if f.limited && len(f.namespaces) == 0 || f.keys != nil {
		f.terms = termsOf(f.keys)
	}
	return f, nil
}

// take takes in what the rule's inputs contribute.
func (f *filter) take(b bound, r *watchlog.Resource, known map[Input][]string) {
	for _, in := range b.inputs(r.GroupResource()) {
		if !in.Own() {
			f.limited, f.namespaces = true, known[in]
			continue
		}
		f.keys = append(f.keys, known[in]...)
	}
	if len(b.rule.ReferencedBy) > 0 {
		f.keys = sortedUnique(f.keys)
		if f.keys == nil {
			f.keys = []string{}
		}
	}
}

// maxKeyTerms is how many objects are found by their keys one by one; more are, with others, by their namespaces.
const maxKeyTerms = 256

// termsOf returns terms that cover the objects with these keys, and one that covers nothing for none.
func termsOf(keys []string) (terms []watchlog.Term) {
	for _, key := range keys {
		if len(keys) <= maxKeyTerms {
			terms = append(terms, watchlog.WithKey(key))
			continue
		}
		ns, _, namespaced := strings.Cut(key, "/")
		if !namespaced {
			return []watchlog.Term{watchlog.Everything()}
		}
		if t := watchlog.InNamespace(ns); !slices.Contains(terms, t) {
			terms = append(terms, t)
		}
	}
	if terms == nil {
		return []watchlog.Term{watchlog.WithKey("")} // no object has it
	}
	return terms
}

// add adds a comparison of a field.
func (f *filter) add(r *watchlog.Resource, label string, values []string, not bool) error {
	c := condition{values: values, not: not}
	switch i := r.FieldIndex(label); {
	case label == "metadata.name":
		c.get = (*watchlog.Object).Name
	case label == "metadata.namespace":
		c.get = (*watchlog.Object).Namespace
	case i >= 0:
		c.get = func(o *watchlog.Object) string { return o.Field(i) }
	default:
		return fmt.Errorf("%s can't be selected by field %q", r.GroupResource(), label)
	}
	f.conditions = append(f.conditions, c)
	return nil
}

// choice picks the index terms that narrow a rule down most.
type choice struct {
	r    *watchlog.Resource
	rank int // of best: the higher the narrower
	best []watchlog.Term
}

func newChoice(r *watchlog.Resource) *choice {
	return &choice{r: r, best: []watchlog.Term{watchlog.Everything()}}
}

func (c *choice) offer(rank int, terms []watchlog.Term) {
	if rank > c.rank {
		c.rank, c.best = rank, terms
	}
}

// field offers the terms of a field that must have one of the values, in one of the namespaces if any are given.
func (c *choice) field(label string, values, namespaces []string) {
	var terms []watchlog.Term
	switch i := c.r.FieldIndex(label); {
	case label == "metadata.name" && !c.r.Namespaced:
		for _, v := range values {
			terms = append(terms, watchlog.WithKey(v))
		}
		c.offer(4, terms)
	case label == "metadata.name" && len(namespaces) > 0:
		for _, v := range values {
			for _, ns := range namespaces {
				terms = append(terms, watchlog.WithKey(watchlog.KeyOf(ns, v)))
			}
		}
		c.offer(4, terms)
	case label == "metadata.namespace" && c.r.Namespaced:
		c.namespaces(values)
	case i >= 0 && c.r.Fields[i].Indexed:
		for _, v := range values {
			terms = append(terms, watchlog.WithField(label, v))
		}
		c.offer(3, terms)
	}
}

// labels offers the terms of a label that must have one of some values.
func (c *choice) labels(s labels.Selector) {
	reqs, selectable := s.Requirements()
	if !selectable {
		return
	}
	for _, r := range reqs {
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			var terms []watchlog.Term
			for v := range r.Values() {
				terms = append(terms, watchlog.WithLabel(r.Key(), v))
			}
			c.offer(2, terms)
		default: // has no index
		}
	}
}

func (c *choice) namespaces(names []string) {
	if len(names) == 0 || !c.r.Namespaced {
		return
	}
	var terms []watchlog.Term
	for _, ns := range names {
		terms = append(terms, watchlog.InNamespace(ns))
	}
	c.offer(1, terms)
}
