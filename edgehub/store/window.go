package store

import (
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

const (
	// eventOverhead is what an event costs beside the body that only the window keeps, as in watchlog.
	eventOverhead = 256
	// maxGaps bounds the gaps of a resource, as in watchlog.
	maxGaps = 256
	// trimStep is how many events a transaction trims, beside two for each that it adds. A window that is far too large
	// (a batch of thousands of events, a smaller Config) shrinks over several transactions, none of which is large.
	trimStep = 64
)

// cost returns what an event costs the window.
func (r *resource) cost(e eventRecord) (uint64, error) {
	if e.prev == 0 {
		return eventOverhead, nil
	}
	n, err := r.bodySize(e.prev)
	return eventOverhead + uint64(n), err
}

// addGap records a gap behind the others. When there are too many, the window begins behind the oldest.
func (p *progress) addGap(g watchlog.Gap) {
	p.gaps = append(p.gaps, g)
	if extra := len(p.gaps) - maxGaps; extra > 0 {
		p.beginAt(p.gaps[extra-1].To)
	}
}

// beginAt moves the beginning of the window up to rev, out of a gap that hides rev, and drops the gaps before it.
func (p *progress) beginAt(rev uint64) {
	p.oldest = max(p.oldest, rev)
	n := 0
	for ; n < len(p.gaps) && p.gaps[n].From < p.oldest; n++ {
		p.oldest = max(p.oldest, p.gaps[n].To)
	}
	p.gaps = p.gaps[n:]
}

// trim takes the oldest events, at most so many as the budget allows, out of a window that exceeds its bounds, and frees
// the bodies that they ended. The caller saves.
func (r *resource) trim(bounds watchlog.Config, budget int) error {
	p := &r.progress
	for ; budget > 0; budget-- {
		k, v := r.events.Cursor().First()
		if k == nil {
			return nil
		}
		seq, e, err := readEvent(k, v)
		if err != nil {
			return err
		}
		count := r.events.Sequence() - seq + 1
		if p.bytes <= uint64(bounds.MaxBytes) && count <= uint64(bounds.MaxEvents) && e.rev >= p.oldest {
			return nil
		}
		if err := r.trimEvent(seq, e); err != nil {
			return err
		}
	}
	return nil
}

// trimEvent takes the oldest event out of the window.
func (r *resource) trimEvent(seq uint64, e eventRecord) error {
	c, err := r.cost(e)
	if err != nil {
		return err
	}
	if e.prev != 0 {
		if err := r.dropBody(e.prev); err != nil {
			return err
		}
	}
	r.progress.bytes -= c
	r.progress.beginAt(e.rev)
	return r.events.Delete(number(seq))
}

// readEvent returns what is stored as k and v in the events bucket.
func readEvent(k, v []byte) (seq uint64, e eventRecord, err error) {
	if seq, err = decodeID(k); err != nil {
		return 0, e, err
	}
	b, err := unseal(k, v)
	if err != nil {
		return 0, e, err
	}
	e, err = decodeEvent(b)
	return seq, e, err
}
