package watchlog

import "fmt"

// firsts bounds the versions that one step of a rebuild unpacks.
const firsts = 256

// rebuild returns the state at rev, which lies behind packed events. Of each object that has changed since, the version
// that the first of these changes ended is put in the place of what a newer state has, so the cost is that of the objects,
// not that of the events.
func (l *Log) rebuild(rev uint64) (Snapshot, error) {
	l.rebuilds.Lock()
	defer l.rebuilds.Unlock()
	l.mu.RLock()
	if s := l.win.remembered(rev); s != nil {
		l.mu.RUnlock()
		return Snapshot{l, s}, nil
	}
	if err := l.win.check(rev); err != nil {
		l.mu.RUnlock()
		return Snapshot{}, err
	}
	base := l.cur.Load()
	if len(l.win.kept) > 0 {
		base = l.win.kept[0]
	}
	r := &rebuilding{log: l, state: base.edit(), at: l.win.lastAt(rev), end: base.seq, seen: map[string]struct{}{}}
	l.mu.RUnlock()
	r.state.rev, r.state.seq = rev, r.at
	for r.at < r.end {
		if err := r.step(); err != nil {
			return Snapshot{}, fmt.Errorf("state at %d: %w", rev, err)
		}
	}
	l.remember(r.state, r.bytes)
	return Snapshot{l, r.state}, nil
}

// rebuilding is the state of one rebuild.
type rebuilding struct {
	log     *Log
	state   *state
	at, end uint64              // number of the last event that was looked at, and of the last one to look at
	seen    map[string]struct{} // the keys of the events so far
	bytes   int64               // of the versions that were unpacked
	first   []first             // scratch
}

// first is the first event of a key: what there was before it.
type first struct {
	key  string
	prev *Object // nil when there was nothing, or item tells
	item int     // of the unpacking; -1 when there is none
}

func (r *rebuilding) step() error {
	u, err := r.scan()
	if err != nil {
		return err
	}
	for _, f := range r.first {
		if f.item >= 0 {
			if f.prev, err = u.object(f.item); err != nil {
				return r.log.damaged(err)
			}
			r.bytes += int64(f.prev.Size())
		}
		have := r.state.get(f.key)
		switch {
		case f.prev != nil:
			r.state.put(r.log.res, have, f.prev)
		case have != nil:
			r.state.drop(r.log.res, have)
		}
	}
	return nil
}

// scan collects the first events of keys among the next events.
func (r *rebuilding) scan() (*unpacking, error) {
	l, u := r.log, newUnpacking()
	w := &l.win
	r.first = r.first[:0]
	l.mu.RLock()
	defer l.mu.RUnlock()
	if r.at+1 < w.first {
		return nil, fmt.Errorf("%w: event %d, the oldest is %d", ErrCompacted, r.at+1, w.first)
	}
	for looked := 0; r.at < r.end && looked < scanLimit && len(r.first) < firsts; looked++ {
		r.at++
		if e := w.hot(r.at); e != nil {
			if r.isFirst(e.Object.key) {
				r.first = append(r.first, first{key: e.Object.key, prev: e.Prev, item: -1})
			}
			continue
		}
		if p := w.cold(r.at); r.isFirst(p.chain.key) {
			f := first{key: p.chain.key, item: -1}
			if p.typ != Added {
				f.item = u.add(p.chain, p.version, w.pattern)
			}
			r.first = append(r.first, f)
		}
	}
	return u, nil
}

// isFirst tells whether no event so far was of the key.
func (r *rebuilding) isFirst(key string) bool {
	n := len(r.seen)
	r.seen[key] = struct{}{}
	return len(r.seen) > n
}
