package kube

import (
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// criteria is a part, ready to be held against a log. It is immutable.
type criteria struct {
	terms       []watchlog.Term // every object of the part has all of them
	labels      labels.Selector
	comparisons []comparison
}

// comparison is one of one field.
type comparison struct {
	get   func(*watchlog.Object) string
	value string
	not   bool
}

func compileCriteria(r *watchlog.Resource, part source.Part) (*criteria, error) {
	c := &criteria{terms: []watchlog.Term{watchlog.Everything()}}
	var err error
	if c.labels, err = labels.Parse(part.Labels); err != nil {
		return nil, fmt.Errorf("label selector: %w", err)
	}
	selector, err := fields.ParseSelector(part.Fields)
	if err != nil {
		return nil, fmt.Errorf("field selector: %w", err)
	}
	if part.Namespace != "" {
		c.terms = append(c.terms, watchlog.InNamespace(part.Namespace))
		c.comparisons = append(c.comparisons, comparison{get: (*watchlog.Object).Namespace, value: part.Namespace})
	}
	if part.Name != "" {
		c.comparisons = append(c.comparisons, comparison{get: (*watchlog.Object).Name, value: part.Name})
	}
	for _, q := range selector.Requirements() {
		if err := c.require(r, q); err != nil {
			return nil, err
		}
	}
	c.requireLabels()
	return c, nil
}

func (c *criteria) require(r *watchlog.Resource, q fields.Requirement) error {
	cond := comparison{value: q.Value, not: q.Operator == selection.NotEquals}
	switch i := r.FieldIndex(q.Field); {
	case q.Field == "metadata.name":
		cond.get = (*watchlog.Object).Name
	case q.Field == "metadata.namespace":
		cond.get = (*watchlog.Object).Namespace
	case i < 0:
		return fmt.Errorf("field selector: %s has no field %q", r.GroupResource(), q.Field)
	default:
		cond.get = func(o *watchlog.Object) string { return o.Field(i) }
		if r.Fields[i].Indexed && !cond.not {
			c.terms = append(c.terms, watchlog.WithField(q.Field, q.Value))
		}
	}
	c.comparisons = append(c.comparisons, cond)
	return nil
}

// requireLabels notes the labels that have an index.
func (c *criteria) requireLabels() {
	all, _ := c.labels.Requirements()
	for i := range all {
		switch all[i].Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			if v := all[i].ValuesUnsorted(); len(v) == 1 {
				c.terms = append(c.terms, watchlog.WithLabel(all[i].Key(), v[0]))
			}
		default: // has no index
		}
	}
}

// narrowest returns the term that fewest objects have, and how many.
func (c *criteria) narrowest(snap watchlog.Snapshot) (watchlog.Term, int) {
	best, least := c.terms[0], snap.Len()
	for _, t := range c.terms[1:] {
		if n := snap.CountFrom(t, ""); n < least {
			best, least = t, n
		}
	}
	return best, least
}

// few tells whether the part has few enough objects to be listed. It looks at no more than a few times as many.
func (c *criteria) few(snap watchlog.Snapshot) bool {
	_, n := c.narrowest(snap)
	if n <= maxListed {
		return true
	}
	if n > 50*maxListed {
		return false
	}
	n = 0
	for range c.objects(snap) {
		if n++; n > maxListed {
			return false
		}
	}
	return true
}

// objects returns the objects of the part.
func (c *criteria) objects(snap watchlog.Snapshot) iter.Seq[*watchlog.Object] {
	return func(yield func(*watchlog.Object) bool) {
		term, _ := c.narrowest(snap)
		for o := range snap.Select(term, "") {
			if c.match(o) && !yield(o) {
				return
			}
		}
	}
}

func (c *criteria) match(o *watchlog.Object) bool {
	for i := range c.comparisons {
		if q := &c.comparisons[i]; (q.get(o) == q.value) == q.not {
			return false
		}
	}
	return c.labels.Matches(o.Labels())
}
