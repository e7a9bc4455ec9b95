package watchlog

import "strings"

// state is what a log holds at one position. It is immutable once published; edit makes the next one.
type state struct {
	objects tree[*Object]   // ordered by key
	fields  tree[indexItem] // the values of indexed fields
	labels  tree[indexItem] // all labels
	rev     uint64          // the position
	seq     uint64          // number of the last event that is in it
}

// indexItem says that the object at key has value under name. Items are ordered by name, value and key.
type indexItem struct{ name, value, key string }

// edit returns a copy that may be changed.
func (s *state) edit() *state {
	return &state{
		objects: s.objects.edit(), fields: s.fields.edit(), labels: s.labels.edit(), rev: s.rev, seq: s.seq,
	}
}

func (s *state) get(key string) *Object {
	o, _ := s.objects.get(func(o *Object) int { return strings.Compare(o.key, key) })
	return o
}

// put makes o the object at its key in place of old, which may be nil.
func (s *state) put(r *Resource, old, o *Object) {
	s.objects.set(o, func(x *Object) int { return strings.Compare(x.key, o.key) })
	for i := range r.Fields {
		if !r.Fields[i].Indexed || old != nil && old.fields[i] == o.fields[i] {
			continue
		}
		if old != nil {
			removeIndex(&s.fields, indexItem{r.Fields[i].Label, old.fields[i], o.key})
		}
		setIndex(&s.fields, indexItem{r.Fields[i].Label, o.fields[i], o.key})
	}
	s.putLabels(old, o)
}

func (s *state) putLabels(old, o *Object) {
	for _, l := range o.labels {
		if old == nil || !old.hasLabel(l) {
			setIndex(&s.labels, indexItem{l.Key, l.Value, o.key})
		}
	}
	if old == nil {
		return
	}
	for _, l := range old.labels {
		if !o.hasLabel(l) {
			removeIndex(&s.labels, indexItem{l.Key, l.Value, o.key})
		}
	}
}

func (o *Object) hasLabel(l Label) bool {
	v, ok := o.labels.Lookup(l.Key)
	return ok && v == l.Value
}

// drop removes o, which is present.
func (s *state) drop(r *Resource, o *Object) {
	s.objects.remove(func(x *Object) int { return strings.Compare(x.key, o.key) })
	for i := range r.Fields {
		if r.Fields[i].Indexed {
			removeIndex(&s.fields, indexItem{r.Fields[i].Label, o.fields[i], o.key})
		}
	}
	for _, l := range o.labels {
		removeIndex(&s.labels, indexItem{l.Key, l.Value, o.key})
	}
}

// apply takes the state over e.
func (s *state) apply(r *Resource, e *Event) {
	switch e.Type {
	case Deleted:
		s.drop(r, e.Prev)
	case Added, Modified:
		s.put(r, e.Prev, e.Object)
	}
}

// revert takes the state back to before e.
func (s *state) revert(r *Resource, e *Event) {
	switch e.Type {
	case Deleted:
		s.put(r, nil, e.Prev)
	case Added:
		s.drop(r, e.Object)
	case Modified:
		s.put(r, e.Object, e.Prev)
	}
}

func (a indexItem) compare(b indexItem) int {
	if c := strings.Compare(a.name, b.name); c != 0 {
		return c
	}
	if c := strings.Compare(a.value, b.value); c != 0 {
		return c
	}
	return strings.Compare(a.key, b.key)
}

func setIndex(t *tree[indexItem], item indexItem) {
	t.set(item, func(x indexItem) int { return x.compare(item) })
}

func removeIndex(t *tree[indexItem], item indexItem) {
	t.remove(func(x indexItem) int { return x.compare(item) })
}
