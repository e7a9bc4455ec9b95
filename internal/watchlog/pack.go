package watchlog

// The newest events of a window are hot: they hold their versions whole. Older ones are packed by a goroutine that runs
// while there is something to pack. Events and states that somebody holds stay what they are: what is packed is a copy.

const (
	// hotShare is the part of a window's bounds that hot events may take.
	hotShare = 4
	// maxHotEvents bounds the hot events, whatever MaxEvents is.
	maxHotEvents = 4096
	// packAtOnce is how many events are packed in one step, and the least for which packing begins.
	packAtOnce = 64
	// packBytes bounds the bytes of a step, unless it is of a single event.
	packBytes = 4 << 20
)

// heat bounds the hot events.
type heat struct {
	events int // at least 1
	bytes  int64
	step   int // how many events more there must be before packing begins
}

func (c Config) heat() heat {
	n := max(1, min(maxHotEvents, c.MaxEvents/hotShare))
	return heat{events: n, bytes: c.MaxBytes / hotShare, step: min(packAtOnce, max(1, n/hotShare))}
}

// startPacking lets a packer begin when there is enough to pack. l.mu is held.
func (l *Log) startPacking() {
	if l.packing || l.err != nil || !l.win.tooHot(l.hot) {
		return
	}
	l.packing = true
	l.packers.Go(l.pack)
}

// tooHot tells whether it is time to pack.
func (w *window) tooHot(h heat) bool {
	return len(w.events) >= h.events+h.step || w.hotBytes > h.bytes+h.bytes/8 && len(w.events) > 1
}

// packable returns how many of the oldest hot events are to be packed next. One always stays hot.
func (w *window) packable(h heat) int {
	n, left, step := 0, w.hotBytes, int64(0)
	for n < len(w.events)-1 && (len(w.events)-n > h.events || left > h.bytes) && n < packAtOnce {
		c := w.events[n].cost()
		if step += c; n > 0 && step > packBytes {
			break
		}
		left -= c
		n++
	}
	return n
}

// pack packs events until the rest may stay hot, or the log is closed.
func (l *Log) pack() {
	for {
		events, first, pattern := l.nextToPack()
		if len(events) == 0 {
			return
		}
		versions := make([]version, len(events))
		for i, e := range events {
			switch e.Type {
			case Modified:
				versions[i] = packed(e.Prev, e.Object, 1)
			case Deleted:
				versions[i] = packed(e.Prev, pattern, 0)
			}
		}
		l.repack(l.install(events, versions, first))
	}
}

// nextToPack returns the events that are to be packed next, and the number of the first; none when the packer is done.
// pattern is what deleted objects are packed against: the first of them.
func (l *Log) nextToPack() (events []*Event, first uint64, pattern *Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &l.win
	n := w.packable(l.hot)
	if n == 0 || l.err != nil {
		l.packing = false
		return nil, 0, nil
	}
	events = append(events, w.events[:n]...)
	for i := 0; i < n && w.pattern == nil; i++ {
		if events[i].Type == Deleted {
			w.choosePattern(events[i].Prev)
		}
	}
	return events, w.hotFirst(), w.pattern
}

// choosePattern takes the first object that was deleted as the pattern, or an empty one.
func (w *window) choosePattern(o *Object) {
	w.pattern = &Object{}
	if o.Size() <= maxPattern {
		w.pattern = o
		w.bytes += int64(o.Size())
	}
}

// maxPattern bounds the object that others are packed against for as long as the log lives.
const maxPattern = 64 << 10

// anchor is a version that others can be packed against: it is whole for a moment.
type anchor struct {
	chain  *chain
	number uint32
	object *Object
}

// install puts packed events in the place of the hot ones, of which the first has the number first, and returns those of
// their versions that older ones are to be packed against again.
func (l *Log) install(events []*Event, versions []version, first uint64) (anchors []anchor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &l.win
	for i, e := range events {
		if first+uint64(i) < w.hotFirst() { //nolint:gosec // an index
			continue // has left the window meanwhile
		}
		c, number := w.installOne(e, versions[i])
		if e.Type != Added && number > 0 && number%stride == 0 {
			anchors = append(anchors, anchor{c, number, e.Prev})
		}
	}
	w.unpacked.age(len(events))
	w.trim(l.cfg)
	return anchors
}

// installOne packs the oldest hot event.
func (w *window) installOne(e *Event, v version) (*chain, uint32) {
	w.popHot()
	c := w.chains[e.Object.key]
	if c == nil {
		c = &chain{key: e.Object.key}
		if w.chains == nil {
			w.chains = map[string]*chain{}
		}
		w.chains[c.key] = c
		w.bytes += chainCost
	}
	number := c.end()
	if e.Type != Added {
		w.bytes += c.push(v, e.Prev)
	}
	if c.head = e.Object; e.Type == Deleted {
		c.head = nil
	}
	c.events++
	w.packed.push(packedEvent{rev: e.Rev, shown: e.Shown, chain: c, version: number, typ: e.Type, late: e.Late})
	w.bytes += packedCost
	return c, number
}

// repack packs the versions again that anchors have come near enough for. What fails stays as it is.
func (l *Log) repack(anchors []anchor) {
	if len(anchors) == 0 {
		return
	}
	u := newUnpacking()
	type job struct {
		anchor
		old  uint32
		item int
	}
	var jobs []job
	l.mu.RLock()
	for _, a := range anchors {
		for reach := uint32(stride); a.number >= reach && a.number%reach == 0; reach *= stride {
			if old := a.number - reach; a.chain.has(old) && a.chain.has(a.number) && a.chain.at(old).data != nil {
				jobs = append(jobs, job{a, old, u.add(a.chain, old, l.win.pattern)})
			}
		}
	}
	l.mu.RUnlock()
	for _, j := range jobs {
		o, err := u.object(j.item)
		if err != nil {
			continue
		}
		v := packed(o, j.object, j.number-j.old)
		l.mu.Lock()
		if j.chain.has(j.old) {
			l.win.bytes += j.chain.replace(j.old, v)
		}
		l.mu.Unlock()
	}
}
