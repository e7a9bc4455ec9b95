package fleet

import (
	"unique"

	"github.com/tombolo-sync/tombolo/internal/delta"
)

// replica is what an edge holds of one resource. It belongs to the edge's goroutine.
type replica struct {
	kind   *kind
	id     uint32 // the subscription's, 0 for none
	view   unique.Handle[string]
	rev    uint64 // the position; 0: no state yet
	held   map[string]*version
	digest delta.Digest // of held

	pending target // what the step under way leads to
	// open is set during a catch-up, which ends with a checkpoint. Its changes are in staged: all up to stagedRev.
	open      bool
	staged    map[string]change
	stagedRev uint64
	rewound   bool     // the cloud has gone back: older versions count, and so does an older position
	exact     []change // the part of an exact step that has come
	// needed is set while the hub is to answer a Need, with missed whole.
	needed bool
	missed []string
	sums   delta.Ranges // what the hub was sent in place of an inventory, until it asks for parts
	live   bool         // caught up, in this session
	moved  bool         // the position has moved by an operation, and no ack has told the hub
	asked  bool         // an inventory was sent, in this session, that was not answered yet
}

// target is what the data will be of when a step is finished.
type target struct{ epoch, view unique.Handle[string] }

// change gives a key another version, or none.
type change struct {
	key string
	rev uint64 // the position at which it happened; 0: nobody knows
	to  *version
}

func newReplica(k *kind) *replica { return &replica{kind: k, held: map[string]*version{}} }

// known returns the view that the data is of; of a first sync, the view that it leads to.
func (r *replica) known() string {
	if r.rev > 0 {
		return r.view.Value()
	}
	return r.pending.view.Value()
}

// discard gives up a catch-up.
func (r *replica) discard() { r.open, r.rewound, r.staged, r.stagedRev = false, false, nil, 0 }

// rewind makes ready for a catch-up with a cloud that has gone back: what is staged is of before.
func (r *replica) rewind() { r.rewound, r.staged, r.stagedRev = true, nil, 0 }

// stage puts changes of a catch-up over what is known of their keys.
func (r *replica) stage(changes []change, upto uint64) {
	if r.staged == nil {
		r.staged = make(map[string]change, len(changes))
	}
	for _, c := range changes {
		if old, ok := r.staged[c.key]; ok && c.rev != 0 && c.rev < old.rev && !r.asked {
			continue // of what answers an inventory, each takes the place of what is staged
		}
		r.staged[c.key] = c
	}
	r.stagedRev = max(r.stagedRev, upto, r.rev, 1)
}

// current returns the version of a key that is held once the step so far is applied, with more changes behind it; nil for
// none.
func (r *replica) current(key string, more []change) *version {
	for _, changes := range [][]change{more, r.exact} {
		for i := len(changes) - 1; i >= 0; i-- {
			if changes[i].key == key {
				return changes[i].to
			}
		}
	}
	return r.held[key]
}

// outcome returns the digest of what the replica would hold if the step ended now.
func (r *replica) outcome() delta.Digest {
	d := r.digest
	for _, c := range r.staged {
		was := r.held[c.key]
		if is := r.after(was, c); is != was {
			exchange(&d, was, is)
		}
	}
	return d
}

// finish makes the outcome of a step what the replica holds.
func (r *replica) finish(rev uint64) {
	for _, c := range r.staged {
		r.apply(c)
	}
	r.discard()
	r.view, r.rev, r.moved = r.pending.view, rev, true
}

// goesBack tells whether the catch-up under way leads to another history than the replica's: the position is an older
// one, or a version of an object is. In one history neither happens, because a hub that is behind an edge waits.
func (r *replica) goesBack(rev uint64) bool {
	if rev < r.rev {
		return true
	}
	for _, c := range r.staged {
		if was := r.held[c.key]; c.replacesNewer(was) {
			return true
		}
	}
	return false
}

// advance applies an exact step to upto. What the replica has by then is left out.
func (r *replica) advance(changes []change, upto uint64) {
	for _, c := range changes {
		if c.rev > r.rev || c.rev == r.rev && c.to == nil {
			r.apply(c)
		}
	}
	r.rev, r.moved = upto, true
}

// apply makes one change.
func (r *replica) apply(c change) {
	was := r.held[c.key]
	is := r.after(was, c)
	if is == was {
		return
	}
	exchange(&r.digest, was, is)
	if is == nil {
		delete(r.held, c.key)
		return
	}
	r.held[is.id.key] = is
}

// after returns what a key has after a change: an older version of the same object never replaces a newer one, unless the
// cloud has gone back.
func (r *replica) after(was *version, c change) *version {
	if !r.rewound && c.replacesNewer(was) {
		return was
	}
	return c.to
}

// replacesNewer tells whether the change brings an older version of the same object.
func (c *change) replacesNewer(was *version) bool {
	return was != nil && c.to != nil && was.uid == c.to.uid && was.rev > c.to.rev
}

// exchange takes a digest over from one version of a key to another, nil for none.
func exchange(d *delta.Digest, was, is *version) {
	if was != nil {
		d.Subtract(was.digest)
	}
	if is != nil {
		d.Join(is.digest)
	}
}

// all calls f with every version that the replica would hold if the step ended now.
func (r *replica) all(f func(*version)) {
	for key, v := range r.held {
		if c, ok := r.staged[key]; ok {
			v = r.after(v, c)
		}
		if v != nil {
			f(v)
		}
	}
	for key, c := range r.staged {
		if _, ok := r.held[key]; !ok && c.to != nil {
			f(c.to)
		}
	}
}
