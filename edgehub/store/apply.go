package store

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Apply stores a batch: its events, the objects that they lead to, its gap and the position after it. Objects that were
// staged before are not written again. A batch that ends a catch-up (the first state, a batch with a gap, a batch that
// reaches the staged position) also discards what else was staged. Of the first state no events are kept: nobody can
// watch from before it.
//
// What the store has already is left out, so applying a batch twice is as applying it once: events at or below the
// stored position, except late ones whose outcome is not stored yet. Everything else must follow from what is stored:
// Apply fails with ErrOrder for a batch below the stored position, for events out of order or above the batch's
// position, and for an event against another version of its object than the live one or to an older one. Then, as after
// any error, the update must be given up.
func (tx *Tx) Apply(gr schema.GroupResource, b watchlog.Batch) error {
	r, err := tx.resource(gr.String())
	if err != nil {
		return err
	}
	a := &application{r: r, start: r.progress.rev, promoted: map[string]entry{}}
	if err := a.run(b); err != nil {
		return r.wrap(err)
	}
	if err := a.clearStaged(b); err != nil {
		return r.wrap(err)
	}
	if err := r.trim(tx.opts.Window, trimStep+2*a.recorded); err != nil {
		return r.wrap(err)
	}
	return r.save()
}

// application is the state of one Apply.
type application struct {
	r        *resource
	start    uint64           // the position before the batch
	recorded int              // events added to the window
	promoted map[string]entry // staged versions that became live, by key
}

// run applies everything but the end of the catch-up.
func (a *application) run(b watchlog.Batch) error {
	p := &a.r.progress
	if b.Rev == 0 || b.Rev < a.start {
		return fmt.Errorf("%w: position %d after %d", ErrOrder, b.Rev, a.start)
	}
	at := uint64(0)
	for _, e := range b.Events {
		if e.Rev < at || e.Rev > b.Rev || e.Rev == 0 {
			return fmt.Errorf("%w: event at %d after %d in a batch up to %d", ErrOrder, e.Rev, at, b.Rev)
		}
		at = e.Rev
		if err := a.event(e); err != nil {
			return err
		}
	}
	if a.start == 0 {
		p.oldest = b.Rev
	} else if err := a.gap(b); err != nil {
		return err
	}
	p.rev = b.Rev
	return nil
}

// gap records the gap of a batch. One that ends at or below the position was recorded when the batch was applied first.
func (a *application) gap(b watchlog.Batch) error {
	g := b.Gap
	if g.Empty() || g.To <= a.start {
		return nil
	}
	if g.From < a.start || g.To > b.Rev {
		return fmt.Errorf("%w: gap from %d to %d in a batch from %d to %d", ErrOrder, g.From, g.To, a.start, b.Rev)
	}
	a.r.progress.addGap(g)
	return nil
}

// event applies one event.
func (a *application) event(e *watchlog.Event) error {
	key := e.Object.Key()
	live, ok, err := find(a.r.index, key)
	if err != nil {
		return err
	}
	switch {
	case e.Rev < a.start, e.Rev == a.start && (!e.Late || a.has(e, live, ok)):
		return nil
	case !follows(e, live, ok):
		return fmt.Errorf("%w: %s of %s at %d is not against the live version (%d)", ErrOrder, e.Type, key, e.Rev, live.rev)
	}
	next := live
	if e.Type == watchlog.Deleted {
		err = a.r.index.Delete([]byte(key))
	} else {
		next, err = a.put(e.Object)
	}
	if err != nil || a.start == 0 {
		return err
	}
	return a.record(e, next.id, live.id)
}

// follows tells whether e leads from the live version of its object, or from none when ok is false, to one that is not
// older.
func follows(e *watchlog.Event, live entry, ok bool) bool {
	if e.Type == watchlog.Added {
		return e.Prev == nil && !ok
	}
	return ok && e.Prev != nil && e.Prev.Rev() == live.rev && e.Object.Rev() >= live.rev
}

// has tells whether what the late event e leads to, or something newer, is stored already.
func (a *application) has(e *watchlog.Event, live entry, ok bool) bool {
	if e.Type == watchlog.Deleted {
		return !ok || live.rev > e.Object.Rev()
	}
	return ok && (live.rev > e.Object.Rev() || live.rev == e.Object.Rev() && a.r.isBody(live.id, e.Object))
}

// put makes o the live version at its key.
func (a *application) put(o *watchlog.Object) (entry, error) {
	key := o.Key()
	e, ok, err := find(a.r.staged, key)
	if err != nil {
		return entry{}, err
	}
	_, taken := a.promoted[key]
	if ok && !taken && e.id != 0 && e.rev == o.Rev() && a.r.isBody(e.id, o) {
		a.promoted[key] = e
	} else {
		e.rev = o.Rev()
		if e.id, err = a.r.putBody(o); err != nil {
			return entry{}, err
		}
	}
	return e, a.r.index.Put([]byte(key), e.encode())
}

// record adds e to the window, as the step from body prev to body object.
func (a *application) record(e *watchlog.Event, object, prev uint64) error {
	rec := eventRecord{
		typ: e.Type, late: e.Late, rev: e.Rev, shown: e.Shown, object: object, prev: prev, key: e.Object.Key(),
	}
	c, err := a.r.cost(rec)
	if err != nil {
		return err
	}
	seq, err := a.r.events.NextSequence()
	if err != nil {
		return err
	}
	a.recorded++
	a.r.progress.bytes += c
	return a.r.events.Put(number(seq), seal(number(seq), rec.encode()))
}

// clearStaged takes what became live out of staged, and all else too when the batch ends the catch-up.
func (a *application) clearStaged(b watchlog.Batch) error {
	p := &a.r.progress
	if p.staged != 0 && (a.start == 0 || !b.Gap.Empty() || b.Rev >= p.staged) {
		return a.r.discardStaged(a.promoted)
	}
	for key := range a.promoted {
		if err := a.r.staged.Delete([]byte(key)); err != nil {
			return err
		}
	}
	return nil
}
