package session

import (
	"fmt"

	"github.com/tombolo-sync/tombolo/edgehub/store"
	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// errRewound is what watches of a log get whose positions mean nothing any more: their clients list again.
var errRewound = fmt.Errorf("%w: the cloud was restored from a backup", watchlog.ErrCompacted)

// beginRewind makes ready for a reconcile with a cloud that has gone back.
func (s *session) beginRewind(r *replica) error {
	s.c.log.Warn("the cloud was restored from a backup", "resource", r.gr, "from", r.log.Rev(), "staged", r.step.staged)
	if err := s.discardStaged(r); err != nil {
		return err
	}
	r.step.rewound = true
	return nil
}

// goesBack tells whether the catch-up under way leads to another history at rev than the replica's: the hub says so, or
// it has sent an older version of an object, or one that the replica would have if its history were the hub's. In one
// history it never does, because a hub that is behind an edge waits.
func (r *replica) goesBack(rev uint64) bool {
	if !r.log.IsReady() {
		return false
	}
	if r.step.rewound || rev < r.log.Rev() {
		return true
	}
	snap := r.log.Snapshot()
	for key, op := range r.step.ops {
		if op.Object != nil && r.belies(op.Object, snap.Get(key)) {
			return true
		}
	}
	return false
}

// belies tells whether an object of the hub can't be there if the replica's history is right, which has another one, or
// none, under its key. By other rules an object may enter the view that has been there for long.
func (r *replica) belies(o, have *watchlog.Object) bool {
	if have != nil && have.UID() == o.UID() {
		return o.Rev() < have.Rev()
	}
	return o.Rev() <= r.log.Rev() && r.view == r.pending.view && r.epoch == r.pending.epoch
}

// finishRewind ends a catch-up that goes back, if its outcome is what the hub holds: with a new log, which has no past.
// Watches of the old one are told that their position is gone.
func (s *session) finishRewind(r *replica, rev uint64, want delta.Digest) error {
	var got delta.Digest
	r.holds(got.Add)
	if got != want {
		s.c.log.Info("asking for what differs", "resource", r.gr, "rev", rev, "hub", want.Count, "edge", got.Count)
		return s.sendInventory(r, want.Apart(got), "")
	}
	ops := make([]watchlog.Op, 0, len(r.step.ops))
	for _, op := range r.step.ops {
		ops = append(ops, op)
	}
	r.epoch, r.view, r.foreign = r.pending.epoch, r.pending.view, max(r.foreign, r.log.Rev())
	err := s.c.cfg.Store.Update(func(tx *store.Tx) error {
		if err := tx.Describe(r.state()); err != nil {
			return err
		}
		return tx.Rewind(r.gr, ops, rev)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", r.gr, err)
	}
	fresh, err := s.reload(r.gr)
	if err != nil {
		return fmt.Errorf("%s: %w", r.gr, err)
	}
	s.succeed(r, fresh)
	s.c.loaded(r.gr)
	fresh.setLive(true, s.c.lastHeard())
	s.progressed = true
	s.c.metrics.rewinds.Inc()
	s.c.log.Warn("resource goes on from another history", "resource", r.gr, "was", r.log.Rev(), "rev", rev, "changes", len(ops))
	s.acks.note(s.numbers[fresh], rev)
	s.acks.due = true
	return nil
}

// succeed puts fresh in the place of r, whose log is closed.
func (s *session) succeed(r, fresh *replica) {
	id := s.numbers[r]
	delete(s.numbers, r)
	s.ids[id], s.numbers[fresh] = fresh, id
	fresh.pending, fresh.lost = r.pending, r.lost
	s.c.register(fresh)
	r.log.Close(errRewound)
}

// instead returns ops such that each takes the place of what is staged of its key, whichever is newer: they answer an
// inventory, which told what is staged.
func (r *replica) instead(ops []watchlog.Op) []watchlog.Op {
	all := ops[:0:0]
	for _, op := range ops {
		if old, ok := r.step.ops[op.Key]; ok && op.Rev < old.Rev {
			all = append(all, watchlog.Op{Key: op.Key})
		}
		all = append(all, op)
	}
	return all
}
