package watchlog

import (
	"sync"
	"sync/atomic"
)

// EventType says what happened to an object.
type EventType uint8

// The types of events, as in a Kubernetes watch.
const (
	Added EventType = iota + 1
	Modified
	Deleted
)

// String returns the type as a Kubernetes watch spells it.
func (t EventType) String() string {
	switch t {
	case Added:
		return "ADDED"
	case Modified:
		return "MODIFIED"
	case Deleted:
		return "DELETED"
	default:
		return "INVALID"
	}
}

// Event is one change in a log. It is immutable.
type Event struct {
	// Rev is the position: the cloud's revision at which the change took effect. It never decreases along a log.
	Rev uint64
	// Shown is the resourceVersion that a client sees on the event and may safely resume from. For Added and Modified
	// it is the object's own. For Deleted it is Rev, except inside a group of events that share one Rev, where all but
	// the last show the position before the group.
	Shown uint64
	Type  EventType
	// Late is set when the log had already announced Rev before this event came (a healed object, an object that a
	// changed scope lets in while the cloud is quiet). A watch resumed from Rev is sent it again rather than not at all.
	Late bool
	// Object is the new state; for Deleted the last state, to be served with AppendJSON(dst, Shown).
	Object *Object
	// Prev is the state before: nil for Added, equal to Object for Deleted.
	Prev *Object

	memo atomic.Pointer[memo] // see Memo; nil until it is asked for
}

// memo is what was made of an event.
type memo struct {
	once  sync.Once
	value any
}

// Memo returns what build returned when it was first called for the event: whoever comes meanwhile waits. It is kept as
// long as the event is, and not counted against the window, so it must not be larger than Prev. An event has one memo:
// that of who serves the log.
func (e *Event) Memo(build func(*Event) any) any {
	m := e.memo.Load()
	if m == nil {
		e.memo.CompareAndSwap(nil, &memo{})
		m = e.memo.Load()
	}
	m.once.Do(func() { m.value = build(e) })
	return m.value
}

// overhead is what an event costs the window beside the bytes it keeps alive.
const overhead = 256

// cost returns the bytes that only the window keeps alive because of the event.
func (e *Event) cost() int64 {
	if e.Prev == nil {
		return overhead
	}
	return overhead + int64(e.Prev.Size())
}

// Gap is a range of positions whose single events are unknown. From and To themselves are exact.
type Gap struct{ From, To uint64 }

// Empty tells whether the gap hides no position.
func (g Gap) Empty() bool { return g.To <= g.From }

// hides tells whether rev is strictly inside the gap.
func (g Gap) hides(rev uint64) bool { return g.From < rev && rev < g.To }

// Batch is a step of a log from one position to the next.
type Batch struct {
	Events []*Event
	Rev    uint64 // the position after it
	Gap    Gap    // what the step skipped; zero when every event is in it
}
