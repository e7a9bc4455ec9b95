package syncsrv

import (
	"errors"
	"slices"
	"sort"

	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// history is how the digest of a view has changed along a log: it is worked out from all objects once, and from then on
// by the events that concern the view. It is empty until somebody asks.
type history struct {
	reader *watchlog.Reader // of the events behind the newest point; nil while the history is empty
	rev    uint64           // how far reader has come
	// points are ascending. At each but the first an event has changed the view; the first is as far back as the history
	// reaches. From one point to the next the digest stays.
	points []point
}

// point is the digest of a view at a position and behind it.
type point struct {
	rev    uint64
	digest delta.Digest
	late   bool // a part of it may have come when the log had announced rev already
}

const (
	// minPoints and maxPoints bound the points that a history keeps, pointsEach is for each holder: as many positions as
	// edges may be at.
	minPoints, maxPoints, pointsEach = 8, 1024, 8
	// maxUndone is how many events are taken back to find out an older digest. Beyond them all objects are looked at.
	maxUndone = 4096
	// undoAttempts is how often that is tried while the log moves.
	undoAttempts = 3
)

// at returns the digest of the view at rev, and whether an event behind rev has concerned the view: when that is long
// ago, it says so in any case. Errors are those of Log.SnapshotAt, or why the log can't be followed.
func (p *projection) at(rev uint64) (d delta.Digest, changed bool, err error) {
	if err := p.log.Reaches(rev); err != nil {
		return d, false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &p.digest
	for range undoAttempts {
		snap := p.log.Snapshot()
		if err := p.follow(); err != nil {
			return d, false, err
		}
		if i := h.find(rev); i >= 0 {
			return h.points[i].digest, i < len(h.points)-1, nil
		}
		undone, ok, err := p.between(rev, h.points[0].rev)
		if err != nil {
			return d, false, err
		}
		if !ok {
			break
		}
		// Nothing more comes at a position that the log has passed.
		if h.rev > h.points[0].rev || p.log.Snapshot() == snap {
			d, moved := p.undo(rev, undone)
			return d, moved || len(h.points) > 1, nil
		}
	}
	snap, err := p.log.SnapshotAt(rev)
	if err != nil {
		return d, false, err
	}
	return p.sum(snap), true, nil
}

// of returns the digest of the view in a snapshot of the log.
func (p *projection) of(snap watchlog.Snapshot) delta.Digest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ofLocked(snap)
}

func (p *projection) ofLocked(snap watchlog.Snapshot) delta.Digest {
	if p.follow() != nil {
		return p.sum(snap)
	}
	i := p.digest.find(snap.Rev())
	if i < 0 || p.digest.points[i].hasLate(snap.Rev()) && p.log.Snapshot() != snap {
		return p.sum(snap)
	}
	return p.digest.points[i].digest
}

// hasLate tells whether something may have come to the point since the log had announced rev.
func (pt point) hasLate(rev uint64) bool { return pt.late && pt.rev == rev }

// sum works the digest out from all objects.
func (p *projection) sum(snap watchlog.Snapshot) (d delta.Digest) {
	for o := range p.held(snap) {
		d.Add(o)
	}
	return d
}

// follow takes the history to where the log is. p.mu is held.
func (p *projection) follow() error {
	h := &p.digest
	if h.reader == nil {
		return p.begin()
	}
	h.trim(p.room())
	buf := takeEventBuf()
	defer buf.putBack()
	for {
		page, err := h.reader.Read(buf[:0])
		if errors.Is(err, watchlog.ErrCompacted) {
			return p.begin()
		}
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			p.note(e)
		}
		if h.rev = page.Rev; !page.More && len(page.Events) == 0 {
			return nil
		}
	}
}

// begin makes a history that begins where the log is. p.mu is held.
func (p *projection) begin() error {
	p.forget()
	snap := p.log.Snapshot()
	reader, err := snap.NewReader(nil, p.view.Terms()...)
	if err != nil {
		return err
	}
	first := point{rev: snap.Rev(), digest: p.sum(snap), late: true}
	p.digest = history{reader: reader, rev: snap.Rev(), points: []point{first}}
	return nil
}

// forget empties the history. p.mu is held.
func (p *projection) forget() {
	if p.digest.reader != nil {
		p.digest.reader.Close()
	}
	p.digest = history{}
}

// note takes the history over an event. p.mu is held.
func (p *projection) note(e *watchlog.Event) {
	h := &p.digest
	next := h.points[len(h.points)-1]
	if !p.step(e, next.digest.Remove, next.digest.Add) {
		return
	}
	last := &h.points[len(h.points)-1]
	if last.rev == e.Rev {
		last.digest, last.late = next.digest, last.late || e.Late
		return
	}
	h.points = append(h.points, point{rev: e.Rev, digest: next.digest, late: e.Late})
	h.trim(p.room())
}

// trim drops the oldest points.
func (h *history) trim(room int) {
	if over := len(h.points) - room; over > 0 {
		h.points = slices.Delete(h.points, 0, over)
	}
}

// step calls out with the version that an event takes from the view, and in with the one that it brings. It tells whether
// there was any.
func (p *projection) step(e *watchlog.Event, out, in func(*watchlog.Object)) bool {
	left := e.Prev != nil && p.view.Matches(e.Prev)
	if left {
		out(e.Prev)
	}
	came := e.Type != watchlog.Deleted && p.view.Matches(e.Object)
	if came {
		in(e.Object)
	}
	return left || came
}

// room is how many points may be kept.
func (p *projection) room() int {
	return int(min(max(pointsEach*p.holders.Load(), minPoints), maxPoints))
}

// find returns which point is that of a position, -1 when the history does not reach back so far.
func (h *history) find(rev uint64) int {
	return sort.Search(len(h.points), func(i int) bool { return h.points[i].rev > rev }) - 1
}
