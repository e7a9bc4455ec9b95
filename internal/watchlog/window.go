package watchlog

import (
	"fmt"
	"sort"
)

// window is the bounded run of events that lead to a log's current state. It is guarded by Log.mu.
//
// Events have consecutive numbers, counted from 1 over the life of the log. The older ones are packed, those behind are hot.
type window struct {
	packed packedRun
	events []*Event // hot
	first  uint64   // number of the oldest event; 0 while no event was ever there
	floor  uint64   // the smallest position that can be watched from
	torn   uint64   // position of the last late event that was dropped: who was there before it has not seen it
	bytes  int64    // what the events cost, see Event.cost and packedCost
	// hotBytes is what the hot events cost.
	hotBytes int64
	chains   map[string]*chain // of the keys that packed events are of
	pattern  *Object           // what objects that were deleted are packed against; nil until one is. Never changes then
	unpacked unpackedEvents
	gaps     []Gap // ascending, none below floor
	// forgotten is the end of the last gap that was dropped from gaps. A reader that is still before it is told of one
	// gap that ends there.
	forgotten uint64
	kept      []*state  // on the way through the hot events: older ones would keep whole what is packed
	recent    []rebuilt // states rebuilt lately, newest first, for the pages of exact lists
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
	w.hotBytes += e.cost()
}

// last returns the number of the newest event.
func (w *window) last() uint64 {
	if w.first == 0 {
		return 0
	}
	return w.hotFirst() + uint64(len(w.events)) - 1
}

// hotFirst returns the number of the oldest hot event.
func (w *window) hotFirst() uint64 { return w.first + uint64(w.packed.n) } //nolint:gosec // not negative

// len returns the number of events.
func (w *window) len() int { return w.packed.n + len(w.events) }

// hot returns the event with a number that is in the window, nil when it is packed.
func (w *window) hot(seq uint64) *Event {
	if first := w.hotFirst(); seq >= first {
		return w.events[seq-first]
	}
	return nil
}

// cold returns the event with a number that is in the window and not hot.
func (w *window) cold(seq uint64) *packedEvent { return w.packed.at(int(seq - w.first)) } //nolint:gosec // in the window

// position returns the position of the event with a number that is in the window, and whether it was late.
func (w *window) position(seq uint64) (rev uint64, late bool) {
	if e := w.hot(seq); e != nil {
		return e.Rev, e.Late
	}
	p := w.cold(seq)
	return p.rev, p.late
}

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
	for w.len() > 0 && (w.bytes > c.MaxBytes || w.len() > c.MaxEvents) {
		w.drop()
	}
	if extra := len(w.gaps) - maxGaps; extra > 0 {
		w.floor = max(w.floor, w.gaps[extra-1].To)
	}
	if g, ok := w.gapAt(w.floor); ok && g.hides(w.floor) {
		w.floor = g.To
	}
	w.forget()
}

// drop takes the oldest event out.
func (w *window) drop() {
	if w.packed.n == 0 {
		e := w.popHot()
		w.floor = max(w.floor, e.Rev)
		if e.Late {
			w.torn = e.Rev
		}
		w.first++
		return
	}
	p := w.packed.pop()
	w.floor = max(w.floor, p.rev)
	if p.late {
		w.torn = p.rev
	}
	w.first++
	w.bytes -= packedCost
	if p.typ != Added {
		w.bytes -= p.chain.pop()
	}
	if p.chain.events--; p.chain.events == 0 {
		delete(w.chains, p.chain.key)
		w.bytes -= chainCost
	}
}

// popHot takes the oldest hot event from the others. The caller packs it or counts it as gone.
func (w *window) popHot() *Event {
	e := w.events[0]
	w.events[0] = nil
	w.events = w.events[1:]
	w.bytes -= e.cost()
	w.hotBytes -= e.cost()
	return e
}

// forget drops what lies below the floor, and the states from before the hot events.
func (w *window) forget() {
	n := 0
	for n < len(w.gaps) && w.gaps[n].To <= w.floor {
		w.forgotten = w.gaps[n].To
		n++
	}
	w.gaps = w.gaps[n:]
	n = 0
	for n < len(w.kept) && (w.kept[n].rev < w.floor || w.kept[n].seq+1 < w.hotFirst()) {
		w.kept[n] = nil
		n++
	}
	w.kept = w.kept[n:]
	for n := len(w.recent); n > 0 && w.recent[n-1].until < w.last(); n-- {
		w.recent[n-1] = rebuilt{}
		w.recent = w.recent[:n-1]
	}
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
	for seq > 0 && seq >= w.first {
		if at, late := w.position(seq); at != rev || !late {
			break
		}
		seq--
	}
	return seq
}

// lastAt returns the number of the last event whose position is not behind rev; first-1 when all are.
func (w *window) lastAt(rev uint64) uint64 {
	if w.first == 0 {
		return 0
	}
	if first := w.hotFirst(); len(w.events) > 0 && w.events[0].Rev <= rev {
		return first + uint64(sort.Search(len(w.events), func(i int) bool { return w.events[i].Rev > rev })) - 1
	}
	return w.first + uint64(sort.Search(w.packed.n, func(i int) bool { return w.packed.at(i).rev > rev })) - 1
}
