package store

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Rewind ends a catch-up with a cloud that was restored from a backup: ops tell what differs from the live objects, older
// versions included, and rev is the position, which may be below the stored one. It is the one step that goes back. The
// window is emptied, because what it tells may never have happened, and what is staged is discarded. Objects that ops
// don't name stay as they are, and those that were staged are not written again.
//
// Rewind fails with ErrOrder for position 0, and for a resource whose first sync has not finished.
func (tx *Tx) Rewind(gr schema.GroupResource, ops []watchlog.Op, rev uint64) error {
	r, err := tx.resource(gr.String())
	if err != nil {
		return err
	}
	if rev == 0 || r.progress.rev == 0 {
		return r.wrap(fmt.Errorf("%w: back to %d from %d", ErrOrder, rev, r.progress.rev))
	}
	a := &application{r: r, start: r.progress.rev, promoted: map[string]entry{}}
	if err := a.rewind(ops, rev); err != nil {
		return r.wrap(err)
	}
	return r.save()
}

func (a *application) rewind(ops []watchlog.Op, rev uint64) error {
	if err := a.r.emptyWindow(); err != nil {
		return err
	}
	for _, op := range ops {
		if err := a.replace(op); err != nil {
			return err
		}
	}
	if err := a.r.discardStaged(a.promoted); err != nil {
		return err
	}
	p := &a.r.progress
	p.rev, p.oldest, p.gaps = rev, rev, nil
	return nil
}

// replace makes the object of op the live version at its key, without an event.
func (a *application) replace(op watchlog.Op) error {
	old, ok, err := find(a.r.index, op.Key)
	if err != nil {
		return err
	}
	if ok {
		if err := a.r.dropBody(old.id); err != nil {
			return err
		}
	}
	if op.Object == nil {
		return a.r.index.Delete([]byte(op.Key))
	}
	_, err = a.put(op.Object)
	return err
}

// emptyWindow drops all events and the bodies that they ended. The caller saves.
func (r *resource) emptyWindow() error {
	c := r.events.Cursor()
	for k, v := c.First(); k != nil; k, v = c.First() {
		seq, e, err := readEvent(k, v)
		if err != nil {
			return err
		}
		if err := r.trimEvent(seq, e); err != nil {
			return err
		}
	}
	return nil
}
