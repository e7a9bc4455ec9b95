package watchlog

// Term is one value of one index: a reader of it sees, and a selection by it touches, only the objects that have it.
type Term struct {
	kind  termKind
	name  string // field label or label key
	value string // namespace, key, or value of the field or label
}

type termKind uint8

const (
	everything termKind = iota
	byNamespace
	byKey
	byField
	byLabel
	termKinds // how many there are
)

// Everything is the term of every object.
func Everything() Term { return Term{} }

// InNamespace is the term of the objects in a namespace.
func InNamespace(namespace string) Term { return Term{kind: byNamespace, value: namespace} }

// WithKey is the term of one object.
func WithKey(key string) Term { return Term{kind: byKey, value: key} }

// WithField is the term of the objects whose field has the value. The field must be one of the resource's Indexed ones.
func WithField(label, value string) Term { return Term{kind: byField, name: label, value: value} }

// WithLabel is the term of the objects whose label has the value.
func WithLabel(key, value string) Term { return Term{kind: byLabel, name: key, value: value} }

// Matches tells whether an object of the resource has the term.
func (t Term) Matches(r *Resource, o *Object) bool {
	switch t.kind {
	case everything:
		return true
	case byNamespace:
		return o.Namespace() == t.value
	case byKey:
		return o.key == t.value
	case byField:
		i := r.FieldIndex(t.name)
		return i >= 0 && o.fields[i] == t.value
	case byLabel:
		v, ok := o.labels.Lookup(t.name)
		return ok && v == t.value
	default:
		return false
	}
}

// matchesEvent tells whether an event of these versions concerns the term: its object has it, or had it.
func (t Term) matchesEvent(r *Resource, object, prev *Object) bool {
	return t.Matches(r, object) || prev != nil && prev != object && t.Matches(r, prev)
}
