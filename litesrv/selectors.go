package litesrv

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	operator "k8s.io/apimachinery/pkg/selection"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// fieldTest is one requirement of a field selector, made ready for objects of one resource.
type fieldTest struct {
	field int // index in Resource.Fields, or one of the two below
	value string
	not   bool
}

const (
	fieldName      = -1
	fieldNamespace = -2
)

func (t fieldTest) matches(o *watchlog.Object) bool {
	var have string
	switch t.field {
	case fieldName:
		have = o.Name()
	case fieldNamespace:
		have = o.Namespace()
	default:
		have = o.Field(t.field)
	}
	return (have == t.value) != t.not
}

// selectors are the label and field selectors of a request, made ready for one resource. Matching allocates nothing.
type selectors struct {
	labels labels.Selector // nil when everything matches
	fields []fieldTest
}

// compile makes the selectors ready. The field labels have been checked.
func compile(r *watchlog.Resource, l labels.Selector, f fields.Selector) selectors {
	var s selectors
	if l != nil && !l.Empty() {
		s.labels = l
	}
	if f == nil || f.Empty() {
		return s
	}
	for _, q := range f.Requirements() {
		t := fieldTest{value: q.Value, not: q.Operator == operator.NotEquals}
		switch q.Field {
		case "metadata.name":
			t.field = fieldName
		case "metadata.namespace":
			t.field = fieldNamespace
		default:
			t.field = r.FieldIndex(q.Field)
		}
		s.fields = append(s.fields, t)
	}
	return s
}

// empty tells whether nothing is selected by: kube-apiserver counts the remaining items of such lists only.
func (s *selectors) empty() bool { return s.labels == nil && len(s.fields) == 0 }

func (s *selectors) matches(o *watchlog.Object) bool {
	for i := range s.fields {
		if !s.fields[i].matches(o) {
			return false
		}
	}
	return s.labels == nil || s.labels.Matches(o.Labels())
}

// exactField returns the value that a field must have.
func (s *selectors) exactField(field int) (string, bool) {
	for _, t := range s.fields {
		if t.field == field && !t.not {
			return t.value, true
		}
	}
	return "", false
}

// terms returns an index term for each requirement that has one.
func (s *selectors) terms(r *watchlog.Resource) []watchlog.Term {
	var terms []watchlog.Term
	for _, t := range s.fields {
		if t.field >= 0 && !t.not && r.Fields[t.field].Indexed {
			terms = append(terms, watchlog.WithField(r.Fields[t.field].Label, t.value))
		}
	}
	if s.labels == nil {
		return terms
	}
	requirements, _ := s.labels.Requirements()
	for i := range requirements {
		q := &requirements[i]
		switch q.Operator() {
		case operator.Equals, operator.DoubleEquals, operator.In:
			if v := q.ValuesUnsorted(); len(v) == 1 {
				terms = append(terms, watchlog.WithLabel(q.Key(), v[0]))
			}
		}
	}
	return terms
}
