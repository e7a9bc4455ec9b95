package watchlog

import "fmt"

// Reader is a cursor into a log. It sees, in order, the events that concern at least one of its terms: those whose
// object has the term or had it before. It has no queue, so it costs the log nothing to be slow. One goroutine uses it.
type Reader struct {
	log   *Log
	wake  Waker
	terms []*interest // guarded by Log.mu, as what they point to

	seq   uint64 // number of the last event that was looked at
	skip  uint64 // events up to this position are not wanted: the reader started in the future
	rev   uint64 // everything wanted up to this position was returned
	ended bool
}

// Page is what a reader got from one Read.
type Page struct {
	Events []*Event // in log order: all of them exact, or all inside one Gap
	// First and Last are the numbers in the log of the first and the last of Events, 0 when there are none. Readers of the
	// same terms get the same events between the same two.
	First, Last uint64
	Rev         uint64 // everything wanted up to this position has been returned: what a bookmark may say
	Gap         Gap    // the gap that the events, or the step to Rev, lie in; zero when exact
	More        bool   // there is more to be read at once
}

const (
	// scanLimit bounds the events that one Read looks at without an index, so that no lock is held long.
	scanLimit = 4096
	// maxTerms is how many terms a reader may be of; one with more reads everything.
	maxTerms = 256
)

// NewReader returns a reader of the events behind position after. wake, nil for nobody, is woken when there may be something
// new to read; several readers may share it. No term means everything. A position ahead of
// the log is legal: events up to it are left out. ErrCompacted when the log does not reach back to after, and the reason
// when it is closed.
func (l *Log) NewReader(after uint64, wake Waker, terms ...Term) (*Reader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(); err != nil {
		return nil, err
	}
	if err := l.win.check(after); err != nil {
		return nil, err
	}
	if after == l.win.torn && l.Rev() > after {
		return nil, fmt.Errorf("%w: of %d not all is in the window any more", ErrCompacted, after)
	}
	if rev := l.Rev(); after > rev && after <= l.foreign {
		return nil, fmt.Errorf("%w: %d is of another history, this one is at %d", ErrCompacted, after, rev)
	}
	r := &Reader{log: l, wake: wake, seq: l.win.seek(after), rev: after}
	if after > l.Rev() {
		r.skip = after
	}
	r.join(terms)
	return r, nil
}

// NewReader returns a reader of the events behind the snapshot: together they miss nothing and see nothing twice.
// Errors as those of Log.NewReader.
func (s Snapshot) NewReader(wake Waker, terms ...Term) (*Reader, error) {
	l := s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(); err != nil {
		return nil, err
	}
	if err := l.win.check(s.state.rev); err != nil {
		return nil, err
	}
	r := &Reader{log: l, wake: wake, seq: s.state.seq, rev: s.state.rev}
	r.join(terms)
	return r, nil
}

// open tells why the log can't be read from: ErrNotReady, or the reason why it was closed. l.mu is held.
func (l *Log) open() error {
	if l.err == nil && !l.IsReady() {
		return ErrNotReady
	}
	return l.err
}

// join registers the reader's terms. l.mu is held.
func (r *Reader) join(terms []Term) {
	if len(terms) == 0 || len(terms) > maxTerms {
		terms = []Term{Everything()}
	}
	for _, t := range terms {
		in := r.log.interestIn(t)
		in.readers[r] = struct{}{}
		r.terms = append(r.terms, in)
	}
}

// Close ends the reader.
func (r *Reader) Close() {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	if r.ended {
		return
	}
	r.ended = true
	for _, in := range r.terms {
		r.log.leave(in, r)
	}
}

// Read appends the next events to dst[:0], at most cap(dst) of them, which must be more than none, and never waits. A
// page with neither events nor More means that the reader has caught up. ErrCompacted when the window has left it
// behind; the reason when the log is closed and everything was read.
func (r *Reader) Read(dst []*Event) (Page, error) {
	before := r.rev
	p, u, err := r.look(dst)
	if u == nil {
		return p, err
	}
	if err := r.log.unpack(u); err != nil {
		return Page{Rev: before}, err
	}
	return p, err
}

// look is Read, but for the events that are packed: their versions are planned and have to be made.
func (r *Reader) look(dst []*Event) (Page, *unpacking, error) {
	l := r.log
	l.mu.RLock()
	defer l.mu.RUnlock()
	cur := l.cur.Load()
	if !r.reach(l.win.first) {
		return Page{Rev: r.rev}, nil, fmt.Errorf("%w: event %d, the oldest is %d", ErrCompacted, r.seq+1, l.win.first)
	}
	p := Page{Events: dst[:0], Gap: r.gap()}
	end, endRev := r.stretch(p.Gap, cur)
	u := r.collect(&p, end)
	if r.seq == end {
		r.rev = max(r.rev, endRev)
	}
	p.Rev, p.More = r.rev, r.seq < cur.seq || r.rev < cur.rev
	if l.err != nil && !p.More && len(p.Events) == 0 {
		return p, u, l.err
	}
	return p, u, nil
}

// reach tells whether everything wanted behind the cursor is still in the window, which begins with the event number
// first. A reader whose index shows that it missed nothing moves on to there.
func (r *Reader) reach(first uint64) bool {
	if r.seq+1 >= first {
		return true
	}
	for _, in := range r.terms {
		if in.term.kind == everything || r.seq < in.since || in.lost(r.seq, first) {
			return false
		}
	}
	r.seq = first - 1
	return true
}

// gap returns the gap that the reader stands in, or at the beginning of.
func (r *Reader) gap() Gap {
	if f := r.log.win.forgotten; r.rev < f {
		return Gap{From: r.rev, To: f}
	}
	g, _ := r.log.win.gapAt(r.rev)
	return g
}

// stretch returns the number of the last event, and the position, up to which the reader may go in one step: to the end
// of the gap g that it is in, or to where the next one begins.
func (r *Reader) stretch(g Gap, cur *state) (uint64, uint64) {
	w := &r.log.win
	rev := cur.rev
	if !g.Empty() {
		rev = g.To
	} else if next, ok := w.nextGap(r.rev); ok {
		rev = next.From
	}
	if rev >= cur.rev {
		return cur.seq, cur.rev
	}
	return max(r.seq, w.lastAt(rev)), rev
}

// collect appends wanted events up to number end to the page and moves the cursor. It returns what is to be unpacked of
// them, nil for nothing.
func (r *Reader) collect(p *Page, end uint64) (u *unpacking) {
	w := &r.log.win
	for looked := 0; r.seq < end && looked < scanLimit; looked++ {
		seq, indexed := r.next(end)
		if seq > end {
			r.seq = end
			return u
		}
		e, rev := w.hot(seq), uint64(0)
		if e != nil {
			rev = e.Rev
		} else {
			rev = w.cold(seq).rev
		}
		if rev > r.skip && (indexed || r.wants(e, seq)) {
			if len(p.Events) == cap(p.Events) {
				return u
			}
			if e == nil {
				e, u = w.unpack(seq, u)
			}
			if len(p.Events) == 0 {
				p.First = seq
			}
			p.Events, p.Last = append(p.Events, e), seq
		}
		r.seq = seq
		if p.Gap.Empty() {
			r.passed(rev)
		}
	}
	return u
}

// passed moves the position over an event at rev, unless more events share it.
func (r *Reader) passed(rev uint64) {
	w := &r.log.win
	if r.seq < w.last() {
		if next, _ := w.position(r.seq + 1); next == rev {
			return
		}
	}
	r.rev = max(r.rev, rev)
}

// next returns the number of the next event to look at, end+1 if there is none up to end, and whether an index says that
// it is wanted.
func (r *Reader) next(end uint64) (uint64, bool) {
	best := end + 1
	for _, in := range r.terms {
		if in.term.kind == everything {
			return r.seq + 1, true
		}
		if r.seq < in.since {
			return r.seq + 1, false
		}
		if i := in.after(r.seq); i < len(in.seqs) {
			best = min(best, in.seqs[i])
		}
	}
	return best, true
}

// wants tells whether the event with the number, e if it is hot, concerns one of the terms.
func (r *Reader) wants(e *Event, seq uint64) bool {
	var object, prev *Object
	if e != nil {
		object, prev = e.Object, e.Prev
	} else {
		object, prev = r.log.win.cold(seq).likes()
	}
	for _, in := range r.terms {
		if in.term.matchesEvent(r.log.res, object, prev) {
			return true
		}
	}
	return false
}
