package syncsrv

import (
	"slices"

	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// between returns the events behind from, up to position to; false when they are many.
func (p *projection) between(from, to uint64) (events []*watchlog.Event, ok bool, err error) {
	reader, err := p.log.NewReader(from, nil, p.view.Terms()...)
	if err != nil {
		return nil, false, err
	}
	defer reader.Close()
	buf := takeEventBuf()
	defer buf.putBack()
	for len(events) <= maxUndone {
		page, err := reader.Read(buf[:0])
		if err != nil {
			return nil, false, err
		}
		for _, e := range page.Events {
			switch {
			case e.Rev > to:
				return events, true, nil
			case e.Rev > from: // a late one at from itself is part of what was there
				events = append(events, e)
			}
		}
		if !page.More && len(page.Events) == 0 {
			return events, true, nil
		}
	}
	return nil, false, nil
}

// undo returns the digest at rev, given the events that lead from there to the first point, and whether they have changed
// it. It keeps what it finds on the way if there is room. p.mu is held.
func (p *projection) undo(rev uint64, events []*watchlog.Event) (delta.Digest, bool) {
	h := &p.digest
	at := h.points[0].digest
	var found []point // newest first
	for _, e := range slices.Backward(events) {
		after := point{rev: e.Rev, digest: at, late: e.Late}
		if !p.step(e, at.Add, at.Remove) {
			continue
		}
		if n := len(found); n > 0 && found[n-1].rev == e.Rev {
			found[n-1].late = found[n-1].late || e.Late
		} else {
			found = append(found, after)
		}
	}
	moved := len(found) > 0
	found = append(found, point{rev: rev, digest: at, late: true})
	if len(found)+len(h.points)-1 <= p.room() {
		slices.Reverse(found)
		h.points = append(found, h.points[1:]...)
	}
	return at, moved
}
