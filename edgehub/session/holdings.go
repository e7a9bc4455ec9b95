package session

import "github.com/tombolo-sync/tombolo/internal/watchlog"

// holdings are what a replica will hold when the operations that were taken are applied: what patches are against.
type holdings struct {
	snap watchlog.Snapshot
	// over is what the operations make of the objects; nil values are deletions.
	over map[string]*watchlog.Object
}

func newHoldings(r *replica) *holdings {
	h := &holdings{snap: r.log.Snapshot(), over: map[string]*watchlog.Object{}}
	for _, op := range r.step.exact {
		h.over[op.Key] = op.Object
	}
	return h
}

// at returns the version of an object that has a revision, nil when that is not what is held.
func (h *holdings) at(key string, rev uint64) *watchlog.Object {
	o, ok := h.over[key]
	if !ok {
		o = h.snap.Get(key)
	}
	if o == nil || o.Rev() != rev {
		return nil
	}
	return o
}
