package guarantee

import (
	"cmp"
	"fmt"
	"slices"
)

// tracker replays what one reader was shown against the truth.
type tracker struct {
	r      *Reader
	cfg    ReaderConfig
	p      *projection
	floors *floors
	out    *report
	i      int // the observation being judged
	part   stretch

	ready   bool                 // the reader holds a state
	base    uint64               // its state was the truth at this revision
	since   map[string]held      // what it was shown since, by key
	high    uint64               // everything up to here was claimed to be delivered
	resume  uint64               // the position the reader itself goes by
	next    int                  // p.changes[:next] were delivered or are in skipped
	skipped map[*change]struct{} // passed over by a later event
	excused map[*change]struct{} // reported already: silent from now on

	stated  uint64   // when the reader was given its state, or was last told that it is gone
	initial []Object // collected initial events
	began   uint64   // when the stream they belong to was asked for
	filling bool     // in the initial events
}

// held is what a reader knows about a key.
type held struct {
	rv   uint64
	uid  string
	gone bool // was shown DELETED, or a list without it
}

func newTracker(part stretch, p *projection, f *floors, out *report) *tracker {
	return &tracker{r: part.r, cfg: part.r.cfg, part: part, p: p, floors: f, out: out, excused: map[*change]struct{}{}}
}

func (t *tracker) run() {
	for i := t.part.from; i < t.part.to; i++ {
		t.i = i
		t.observe(&t.r.log[i])
	}
	t.finish()
}

func (t *tracker) observe(o *observation) {
	switch o.kind {
	case listed:
		t.list(o)
	case opened:
		t.open(o)
	case event:
		t.event(o)
	case bookmark:
		t.bookmark(o)
	case expired:
		t.expired(o)
	case ended:
		t.filling, t.initial = false, nil
	case got:
		t.get(o)
	}
}

func (t *tracker) report(d verdict, key string, rv uint64) {
	t.out.add(t.r, t.i, d, key, rv)
}

// reset says that the reader now holds the truth at rv.
func (t *tracker) reset(rv uint64) {
	t.ready, t.base, t.since = true, rv, map[string]held{}
	t.high, t.resume, t.next = rv, rv, t.p.after(rv)
	t.skipped, t.stated = map[*change]struct{}{}, t.r.log[t.i].seq
}

// holds returns what the reader knows about a key.
func (t *tracker) holds(key string) (held, bool) {
	if h, ok := t.since[key]; ok {
		return h, true
	}
	c := t.p.latest(key, t.base)
	if c == nil {
		return held{}, false
	}
	return held{rv: c.at.RV, uid: c.uid(), gone: c.typ == Deleted}, true
}

// learn makes the reader hold what a change tells.
func (t *tracker) learn(c *change) {
	t.since[c.at.Key] = held{rv: c.at.RV, uid: c.uid(), gone: c.typ == Deleted}
}

func (t *tracker) open(o *observation) {
	t.filling, t.initial, t.began = o.initial, nil, o.began
	switch {
	case o.initial:
		t.blameSkipped()
	case t.ready && o.rv == t.resume && o.rv >= t.high:
		if !t.cfg.Coalesced { // a coalesced one may yet be told 410
			t.due(o.rv)
		}
	default:
		t.blameSkipped()
		t.reset(o.rv)
	}
}

func (t *tracker) bookmark(o *observation) {
	switch {
	case t.beyondHead(o.rv):
		t.report(verdict{ErrFaithful, "the bookmark is beyond every revision of the cloud"}, "", o.rv)
		return
	case t.filling && o.initial:
		t.filling = false
		t.replace(o, t.initial, t.began)
		return
	case t.filling:
		t.report(verdict{ErrGapless, "a bookmark came before the end of the initial events"}, "", o.rv)
		return
	case !t.ready:
		return
	}
	if o.rv < t.high {
		t.report(verdict{ErrOrdered, fmt.Sprintf("the bookmark is behind %d, which was shown before", t.high)}, "", o.rv)
	}
	t.due(o.rv)
	t.high, t.resume = max(t.high, o.rv), o.rv
}

func (t *tracker) expired(o *observation) {
	if t.cfg.NeverExpires && !t.restoredSinceState() {
		t.report(verdict{ErrResumable, "410 for a position inside the window"}, "", o.rv)
	}
	t.blameSkipped()
	t.ready, t.stated = false, o.seq
}

// restoredSinceState tells whether the cloud was restored since the reader got its state: that may take its position, and
// has to when the reader goes on with another history.
func (t *tracker) restoredSinceState() bool {
	for _, m := range t.floors.h.restores {
		if t.stated < m.seq && m.seq < t.r.log[t.i].seq {
			return true
		}
	}
	return t.part.moves
}

// due says that everything up to rv has to be delivered by now.
func (t *tracker) due(rv uint64) {
	for ; t.next < len(t.p.changes) && t.p.changes[t.next].at.RV <= rv; t.next++ {
		t.skipped[t.p.changes[t.next]] = struct{}{}
	}
	t.blameSkipped()
}

// blameSkipped reports what was passed over and hasn't come since.
func (t *tracker) blameSkipped() {
	for _, c := range t.sortedSkipped() {
		if !t.excuses(c) {
			t.blame(c)
		}
	}
	t.skipped = map[*change]struct{}{}
}

func (t *tracker) sortedSkipped() []*change {
	skipped := make([]*change, 0, len(t.skipped))
	for c := range t.skipped {
		skipped = append(skipped, c)
	}
	slices.SortFunc(skipped, func(a, b *change) int { return cmp.Compare(a.index, b.index) })
	return skipped
}

// excuses tells whether the reader may lack the event.
func (t *tracker) excuses(c *change) bool {
	if _, ok := t.excused[c]; ok {
		return true
	}
	return t.cfg.Coalesced && (!c.last || t.satisfied(c))
}

// satisfied tells whether the state of the reader already shows the change.
func (t *tracker) satisfied(c *change) bool {
	h, ok := t.holds(c.at.Key)
	if c.typ == Deleted {
		return !ok || h.gone
	}
	return ok && !h.gone && h.rv >= c.at.RV
}

// blame reports a change that should have been delivered.
func (t *tracker) blame(c *change) {
	err := ErrGapless
	if c.typ == Deleted {
		err = ErrDeletesSurvive
	}
	t.report(verdict{err, fmt.Sprintf("%s %s was not delivered", c.typ, c.at.Object)}, c.at.Key, c.at.RV)
	t.excused[c] = struct{}{}
	if h, ok := t.holds(c.at.Key); !ok || h.rv < c.at.RV {
		t.learn(c)
	}
}

// beyondHead tells whether a revision can't be the cloud's.
func (t *tracker) beyondHead(rv uint64) bool {
	return t.floors.head > 0 && rv > t.floors.head
}
