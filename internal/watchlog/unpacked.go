package watchlog

import (
	"errors"
	"fmt"
)

// unpackedEvents are events that were unpacked lately, so that readers that are equally late share them, and what was made
// of them. They are forgotten as others come, and as the log moves on.
type unpackedEvents struct {
	events map[uint64]*Event // by number
	order  []uint64          // the numbers, in the order in which they came
	bytes  int64
}

// cost returns what an unpacked event keeps alive: its own versions, which no state has.
func (unpackedEvents) cost(e *Event) int64 {
	return e.cost() + int64(e.Object.Size())
}

// put takes an event in and lets go of the oldest until all are within limit.
func (u *unpackedEvents) put(number uint64, e *Event, limit int64) {
	if u.events == nil {
		u.events = map[uint64]*Event{}
	}
	if u.events[number] != nil {
		return
	}
	u.events[number] = e
	u.order = append(u.order, number)
	u.bytes += u.cost(e)
	for u.bytes > limit {
		u.age(1)
	}
}

// age lets go of the n oldest.
func (u *unpackedEvents) age(n int) {
	n = min(n, len(u.order))
	for _, number := range u.order[:n] {
		u.bytes -= u.cost(u.events[number])
		delete(u.events, number)
	}
	if u.order = u.order[n:]; len(u.order) == 0 {
		u.order, u.events = nil, nil
	}
}

// unpackedShare is the part of a window's bytes that unpacked events may take beside it.
const unpackedShare = 16

// unpack returns a packed event: one that was unpacked lately, or a new one, whose versions u, made if need be, has to
// make. Log.mu is held.
func (w *window) unpack(seq uint64, u *unpacking) (*Event, *unpacking) {
	if e := w.unpacked.events[seq]; e != nil {
		return e, u
	}
	if u == nil {
		u = newUnpacking()
	}
	return u.addEvent(w.cold(seq), seq, w.pattern), u
}

// unpack makes the events of u whole and remembers them. When one is damaged the window ends behind it: ErrCompacted.
func (l *Log) unpack(u *unpacking) error {
	if err := u.finish(); err != nil {
		return l.damaged(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range u.events {
		l.win.unpacked.put(x.number, x.event, l.cfg.MaxBytes/unpackedShare)
	}
	return nil
}

// damaged drops all that depends on a damaged version, and returns the error for who wanted it. Events lead to newer ones,
// so it is all up to the event that ended the version.
func (l *Log) damaged(err error) error {
	d := (*damage)(nil)
	if !errors.As(err, &d) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &l.win
	end := 0
	for i := w.packed.n; i > 0 && end == 0; i-- {
		if p := w.packed.at(i - 1); p.chain == d.chain && p.version <= d.number {
			end = i
		}
	}
	for ; end > 0; end-- {
		w.drop()
	}
	w.trim(l.cfg)
	return fmt.Errorf("%w: %w", ErrCompacted, err)
}
