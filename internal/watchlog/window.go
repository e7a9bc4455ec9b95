package watchlog

import (
	"fmt"
	"sort"
)

// window is the bounded run of events that lead to a log's current state. It is guarded by Log.mu.
//
// Events have consecutive numbers: events[i] has number first+i, counted from 1 over the life of the log.
type window struct {
	events []*Event
	first  uint64 // number of events[0]; 0 while no event was ever there
	floor  uint64 // the smallest position that can be watched from
	bytes  int64  // what the events cost, see Event.cost
	gaps   []Gap  // ascending, none below floor
	// forgotten is the end of the last gap that was dropped from gaps. A reader that is still before it is told of one
	// gap that ends there.
	forgotten uint64
	kept      []*state
	recent    []*state // states rebuilt lately, newest first, for the pages of exact lists
}

const (
	// keepEvery is how many events lie between two states that are kept for exact reads: at most so many are replayed.
	keepEvery = 1024
	// keepRecent is how many rebuilt states are remembered.
	keepRecent = 4
	// maxGaps bounds the gaps; more move the floor up.
	maxGaps = 256
)

// restored returns the window of a log that is restored at position rev.
func restored(c Content) (window, error) {
	w := window{floor: c.Floor, gaps: c.Gaps}
	at := c.Floor
	for _, e := range c.History {
		if e.Rev < at || e.Rev > c.Rev {
			return w, fmt.Errorf("%w: history has an event at %d between %d and %d", ErrOrder, e.Rev, at, c.Rev)
		}
		at = e.Rev
		w.push(e)
	}
	return w, nil
}

func (w *window) push(e *Event) {
	if w.first == 0 {
		w.first = 1
	}
	w.events = append(w.events, e)
	w.bytes += e.cost()
}

// last returns the number of the newest event.
func (w *window) last() uint64 {
	if w.first == 0 {
		return 0
	}
	return w.first + uint64(len(w.events)) - 1
}

// at returns the event with a number that is in the window.
func (w *window) at(seq uint64) *Event { return w.events[seq-w.first] }

func (w *window) append(b Batch) {
	if !b.Gap.Empty() {
		w.gaps = append(w.gaps, b.Gap)
	}
	for _, e := range b.Events {
		w.push(e)
	}
}

// keep remembers the state now and then, so that exact reads need replay only a few events.
func (w *window) keep(s *state) {
	if n := len(w.kept); n == 0 || s.seq-w.kept[n-1].seq >= keepEvery {
		w.kept = append(w.kept, s)
	}
}

// trim drops the oldest events until the window is inside its bounds.
func (w *window) trim(c Config) {
	n := 0
	for n < len(w.events) && (w.bytes > c.MaxBytes || len(w.events)-n > c.MaxEvents) {
		w.bytes -= w.events[n].cost()
		w.floor = max(w.floor, w.events[n].Rev)
		w.events[n] = nil
		n++
	}
	w.events = w.events[n:]
	w.first += uint64(n)
	if extra := len(w.gaps) - maxGaps; extra > 0 {
		w.floor = max(w.floor, w.gaps[extra-1].To)
	}
	if g, ok := w.gapAt(w.floor); ok && g.hides(w.floor) {
		w.floor = g.To
	}
	w.forget()
}

// forget drops what lies below the floor.
func (w *window) forget() {
	n := 0
	for n < len(w.gaps) && w.gaps[n].To <= w.floor {
		w.forgotten = w.gaps[n].To
		n++
	}
	w.gaps = w.gaps[n:]
	n = 0
	for n < len(w.kept) && (w.kept[n].rev < w.floor || w.kept[n].seq+1 < w.first) {
		w.kept[n] = nil
		n++
	}
	w.kept = w.kept[n:]
}

// gapAt returns the gap that hides positions right after rev, if any: From ≤ rev < To.
func (w *window) gapAt(rev uint64) (Gap, bool) {
	i := sort.Search(len(w.gaps), func(i int) bool { return w.gaps[i].To > rev })
	if i < len(w.gaps) && w.gaps[i].From <= rev {
		return w.gaps[i], true
	}
	return Gap{}, false
}

// nextGap returns the first gap that begins at or after rev.
func (w *window) nextGap(rev uint64) (Gap, bool) {
	i := sort.Search(len(w.gaps), func(i int) bool { return w.gaps[i].From >= rev })
	if i < len(w.gaps) {
		return w.gaps[i], true
	}
	return Gap{}, false
}

// check tells whether a watch or an exact list may start at rev.
func (w *window) check(rev uint64) error {
	if rev < w.floor {
		return fmt.Errorf("%w: %d, the oldest is %d", ErrCompacted, rev, w.floor)
	}
	if g, ok := w.gapAt(rev); ok && g.hides(rev) {
		return fmt.Errorf("%w: %d lies between %d and %d, what happened there is unknown", ErrCompacted, rev, g.From, g.To)
	}
	return nil
}

// seek returns the number of the last event that a watch from rev has seen: the events behind it are to be sent. Late
// events at rev itself are sent again, because the client may have come to rev before them.
func (w *window) seek(rev uint64) uint64 {
	seq := w.lastAt(rev)
	for seq > 0 && seq >= w.first && w.at(seq).Rev == rev && w.at(seq).Late {
		seq--
	}
	return seq
}

// lastAt returns the number of the last event whose position is not behind rev; first-1 when all are.
func (w *window) lastAt(rev uint64) uint64 {
	if w.first == 0 {
		return 0
	}
	return w.first + uint64(sort.Search(len(w.events), func(i int) bool { return w.events[i].Rev > rev })) - 1
}
