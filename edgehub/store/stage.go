package store

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Stage stores a part of a catch-up: ops, the newest version of some keys and deletions of others, where everything up
// to upto is staged now. Staged versions are durable and invisible; Load returns them, Apply makes live those that its
// batch contains. A newer op takes the place of an older one of its key; an older one, or the same again, is left out. A
// deletion of unknown revision (0) takes the place of whatever was staged before.
//
// Stage fails with ErrOrder when upto is below the stored or the staged position.
func (tx *Tx) Stage(gr schema.GroupResource, ops []watchlog.Op, upto uint64) error {
	r, err := tx.resource(gr.String())
	if err != nil {
		return err
	}
	if upto == 0 || upto < r.progress.rev || upto < r.progress.staged {
		return r.wrap(fmt.Errorf("%w: staged up to %d after %d at position %d",
			ErrOrder, upto, r.progress.staged, r.progress.rev))
	}
	for _, op := range ops {
		if err := r.stage(op); err != nil {
			return r.wrap(err)
		}
	}
	r.progress.staged = upto
	return r.save()
}

func (r *resource) stage(op watchlog.Op) error {
	if op.Key == "" || op.Object != nil && (op.Object.Key() != op.Key || op.Object.Rev() != op.Rev) {
		return fmt.Errorf("%w: op of %q at %d holds another object", ErrOrder, op.Key, op.Rev)
	}
	old, ok, err := find(r.staged, op.Key)
	if err != nil {
		return err
	}
	if ok && r.staysStaged(old, op) {
		return nil
	}
	if old.id != 0 {
		if err := r.dropBody(old.id); err != nil {
			return err
		}
	}
	next := entry{rev: op.Rev}
	if op.Object != nil {
		if next.id, err = r.putBody(op.Object); err != nil {
			return err
		}
	}
	return r.staged.Put([]byte(op.Key), next.encode())
}

// staysStaged tells whether the staged version is newer than op, or op itself.
func (r *resource) staysStaged(old entry, op watchlog.Op) bool {
	switch {
	case op.Rev == 0:
		return false
	case op.Rev != old.rev:
		return op.Rev < old.rev
	case op.Object == nil:
		return old.id == 0
	default:
		return old.id != 0 && r.isBody(old.id, op.Object)
	}
}

// DiscardStaged gives up the catch-up under way, if there is one.
func (tx *Tx) DiscardStaged(gr schema.GroupResource) error {
	r, err := tx.resource(gr.String())
	if err != nil {
		return err
	}
	if err := r.discardStaged(nil); err != nil {
		return r.wrap(err)
	}
	return r.save()
}

// discardStaged empties staged and frees the bodies there but for those that became live. The caller saves.
func (r *resource) discardStaged(promoted map[string]entry) error {
	r.progress.staged = 0
	empty := true
	err := each(r.staged, "staged", func(k, v []byte) error {
		empty = false
		e, err := decodeEntry(v)
		if err != nil || e.id == 0 || promoted[string(k)].id == e.id {
			return err
		}
		return r.dropBody(e.id)
	})
	if err != nil || empty {
		return err
	}
	if err := r.root.DeleteBucket(bucketStaged); err != nil {
		return err
	}
	r.staged, err = r.root.CreateBucket(bucketStaged)
	return err
}
