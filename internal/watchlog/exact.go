package watchlog

import (
	"fmt"
	"slices"
	"sort"
)

// SnapshotAt returns the state at exactly rev. It fails with ErrFuture when the log has not reached rev, and with
// ErrCompacted when rev lies before the window or inside a gap.
func (l *Log) SnapshotAt(rev uint64) (Snapshot, error) {
	l.mu.RLock()
	cur := l.cur.Load()
	switch {
	case rev > cur.rev:
		l.mu.RUnlock()
		return Snapshot{}, fmt.Errorf("%w: %d, the log is at %d", ErrFuture, rev, cur.rev)
	case rev == cur.rev:
		l.mu.RUnlock()
		return Snapshot{l, cur}, nil
	}
	if err := l.win.check(rev); err != nil {
		l.mu.RUnlock()
		return Snapshot{}, err
	}
	if s := l.win.remembered(rev); s != nil {
		l.mu.RUnlock()
		return Snapshot{l, s}, nil
	}
	if l.win.lastAt(rev)+1 < l.win.hotFirst() {
		l.mu.RUnlock()
		return l.rebuild(rev)
	}
	base, events, back := l.win.nearest(rev, cur)
	l.mu.RUnlock()
	s := l.replay(base, events, back, rev)
	l.remember(s, 0)
	return Snapshot{l, s}, nil
}

// nearest returns a state and the hot events that lead from it to rev: forwards, or backwards when back is set. A gap in
// between does no harm: its events as a whole lead from its one end to the other.
func (w *window) nearest(rev uint64, cur *state) (base *state, events []*Event, back bool) {
	target := w.lastAt(rev)
	i := sort.Search(len(w.kept), func(i int) bool { return w.kept[i].seq > target })
	after := cur
	if i < len(w.kept) {
		after = w.kept[i]
	}
	if i > 0 && target-w.kept[i-1].seq <= after.seq-target {
		before := w.kept[i-1]
		return before, w.slice(before.seq, target), false
	}
	return after, w.slice(target, after.seq), true
}

// slice returns the events with numbers in (from, to], all of them hot, for use without the lock.
func (w *window) slice(from, to uint64) []*Event {
	if from == to {
		return nil
	}
	first := w.hotFirst()
	return slices.Clone(w.events[from+1-first : to+1-first])
}

// replay returns the state at rev, which events lead to from base.
func (l *Log) replay(base *state, events []*Event, back bool, rev uint64) *state {
	s := base.edit()
	if back {
		for i := len(events) - 1; i >= 0; i-- {
			s.revert(l.res, events[i])
		}
		s.seq -= uint64(len(events))
	} else {
		for _, e := range events {
			s.apply(l.res, e)
		}
		s.seq += uint64(len(events))
	}
	s.rev = rev
	return s
}

// rebuilt is a state that was made for an exact read.
type rebuilt struct {
	state *state
	bytes int64  // of the versions that were unpacked for it
	until uint64 // number of the event with which it is forgotten
}

func (w *window) remembered(rev uint64) *state {
	for _, r := range w.recent {
		if r.state.rev == rev {
			return r.state
		}
	}
	return nil
}

// remember keeps a rebuilt state, for which so many bytes were unpacked, for the next pages of the list: until others have
// come, or the log has moved on.
func (l *Log) remember(s *state, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &l.win
	if w.remembered(s.rev) != nil {
		return
	}
	keep := []rebuilt{{s, bytes, w.last() + maxHotEvents}}
	for _, r := range w.recent {
		if bytes += r.bytes; len(keep) < keepRecent && bytes <= l.cfg.MaxBytes/hotShare {
			keep = append(keep, r)
		}
	}
	w.recent = keep
}
