package guarantee

import "fmt"

// EventType is the type of a watch event as it stands on the wire.
type EventType string

// The types that carry an object.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
)

type kind uint8

const (
	listed kind = iota
	opened
	event
	bookmark
	expired
	ended
	failed
	got
	closed
)

// observation is one thing a reader was shown or did.
type observation struct {
	kind  kind
	seq   uint64 // order in the whole history, when it was complete
	began uint64 // order in the whole history, when its request was about to be sent
	rv    uint64 // of the list, the start of a watch, the bookmark
	typ   EventType
	obj   Object   // of an event or a get; a get without UID found nothing
	items []Object // of a list
	note  string   // of a failure

	initial bool // opened: with initial events; bookmark: ends them
	stale   bool // the answer said that it may be behind
	any     bool // any state from some revision on would do
	exact   bool // a list of the past: tells nothing about the server's position
}

func (o *observation) String() string {
	switch o.kind {
	case listed:
		return fmt.Sprintf("#%d list at %d: %d items", o.seq, o.rv, len(o.items))
	case opened:
		return fmt.Sprintf("#%d watch opened from %d (initial events: %t)", o.seq, o.rv, o.initial)
	case event:
		return fmt.Sprintf("#%d %s %s", o.seq, o.typ, o.obj)
	case bookmark:
		return fmt.Sprintf("#%d BOOKMARK %d (ends initial events: %t)", o.seq, o.rv, o.initial)
	case expired:
		return fmt.Sprintf("#%d 410 for %d", o.seq, o.rv)
	case ended:
		return fmt.Sprintf("#%d watch ended", o.seq)
	case failed:
		return fmt.Sprintf("#%d failed: %s", o.seq, o.note)
	case got:
		return fmt.Sprintf("#%d get %s", o.seq, o.obj)
	default:
		return fmt.Sprintf("#%d reader left", o.seq)
	}
}
