package watchlog

import (
	"iter"
	"strings"
)

// Snapshot is the state of a log at one position. It is immutable, costs nothing to take and holds no lock; the objects
// it reaches stay in memory as long as it does.
type Snapshot struct {
	log   *Log
	state *state
}

// Resource returns what the objects are.
func (s Snapshot) Resource() *Resource { return s.log.res }

// Rev returns the position of the snapshot, 0 while the log is not Ready.
func (s Snapshot) Rev() uint64 { return s.state.rev }

// Len returns the number of objects.
func (s Snapshot) Len() int { return s.state.objects.len() }

// Get returns the object at key, nil if there is none.
func (s Snapshot) Get(key string) *Object { return s.state.get(key) }

// All returns the objects whose key is from or later, in key order.
func (s Snapshot) All(from string) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		s.state.objects.ascend(func(o *Object) int { return strings.Compare(o.key, from) }, yield)
	}
}

// Select returns the objects that have the term and whose key is from or later, in key order. It touches only those.
func (s Snapshot) Select(t Term, from string) iter.Seq[*Object] {
	switch t.kind {
	case everything:
		return s.All(from)
	case byNamespace:
		return s.prefix(t.value+"/", from)
	case byKey:
		return s.single(t.value, from)
	case byField:
		return s.indexed(s.state.fields, t, from)
	default:
		return s.indexed(s.state.labels, t, from)
	}
}

func (s Snapshot) prefix(prefix, from string) iter.Seq[*Object] {
	from = max(from, prefix)
	return func(yield func(*Object) bool) {
		for o := range s.All(from) {
			if !strings.HasPrefix(o.key, prefix) || !yield(o) {
				return
			}
		}
	}
}

func (s Snapshot) single(key, from string) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		if o := s.state.get(key); o != nil && key >= from {
			yield(o)
		}
	}
}

func (s Snapshot) indexed(index tree[indexItem], t Term, from string) iter.Seq[*Object] {
	start := indexItem{t.name, t.value, from}
	return func(yield func(*Object) bool) {
		index.ascend(func(x indexItem) int { return x.compare(start) }, func(x indexItem) bool {
			return x.name == t.name && x.value == t.value && yield(s.state.get(x.key))
		})
	}
}

// CountFrom returns how many objects Select yields, in logarithmic time.
func (s Snapshot) CountFrom(t Term, from string) int {
	switch t.kind {
	case everything:
		return s.Len() - s.rank(from)
	case byNamespace:
		// '0' follows '/', so this is the first key behind the namespace's.
		return max(0, s.rank(t.value+"0")-s.rank(max(from, t.value+"/")))
	case byKey:
		if t.value >= from && s.Get(t.value) != nil {
			return 1
		}
		return 0
	case byField:
		return countIndexed(s.state.fields, t, from)
	default:
		return countIndexed(s.state.labels, t, from)
	}
}

func (s Snapshot) rank(key string) int {
	return s.state.objects.rank(func(o *Object) int { return strings.Compare(o.key, key) })
}

func countIndexed(index tree[indexItem], t Term, from string) int {
	start, end := indexItem{t.name, t.value, from}, indexItem{t.name, t.value + "\x00", ""}
	return index.rank(func(x indexItem) int { return x.compare(end) }) -
		index.rank(func(x indexItem) int { return x.compare(start) })
}
