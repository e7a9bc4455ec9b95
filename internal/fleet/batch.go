package fleet

import (
	"fmt"
	"time"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// batch takes in a batch, as a step of its own or as a part of a longer one, and acknowledges it.
func (l *link) batch(b *tombolov1.Batch) error {
	r, err := l.byID(b.GetSubscription())
	if err != nil {
		return err
	}
	exact := !r.open && b.GetGapFrom() == 0
	l.owe(b.GetPrompt() || !exact)
	if err := l.message.broken; err != nil {
		return fmt.Errorf("%s: %w", r.kind.gr, err)
	}
	if r.needed {
		return nil // what comes before the hub's answer to a Need is dropped
	}
	changes, missed, err := l.decode(r, l.message.operations, exact)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", r.kind.gr, err)
	case missed != nil:
		return l.need(r, missed)
	}
	switch {
	case !exact:
		r.stage(changes, b.GetUptoRev())
		if !r.open && !b.GetMore() { // ends a live step that has a gap
			r.finish(b.GetUptoRev())
		}
		return nil
	case b.GetMore():
		r.exact = append(r.exact, changes...)
		return nil
	}
	if len(r.exact) > 0 {
		changes, r.exact = append(r.exact, changes...), nil
	}
	if err := inOrder(r, changes, b.GetUptoRev()); err != nil {
		return err
	}
	if r.live {
		l.e.f.stats.arrived(changes, time.Now().UnixNano(), len(l.message.raw)+prefix)
	}
	r.advance(changes, b.GetUptoRev())
	return nil
}

// inOrder fails unless an exact step goes forward.
func inOrder(r *replica, changes []change, upto uint64) error {
	if upto < r.rev {
		return nonsense("%s: a step from %d back to %d", r.kind.gr, r.rev, upto)
	}
	last := uint64(0)
	for _, c := range changes {
		if c.rev < last || c.rev > upto {
			return nonsense("%s %s: revision %d behind %d in a step to %d", r.kind.gr, c.key, c.rev, last, upto)
		}
		last = c.rev
	}
	return nil
}
