package fleet

import (
	"fmt"

	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// checkpoint ends a catch-up, or compares what the edge holds with what it should.
func (l *link) checkpoint(m *tombolov1.Checkpoint) error {
	r, err := l.byID(m.GetSubscription())
	if err != nil {
		return err
	}
	want, err := delta.Parse(m.GetCount(), m.GetDigest())
	if err != nil {
		return nonsense("%s: checkpoint: %w", r.kind.gr, err)
	}
	l.e.f.stats.checkpoints.Add(1)
	if r.open {
		return l.finish(r, m.GetRev(), want)
	}
	if r.asked || r.needed {
		return nil
	}
	if r.digest == want {
		r.live = true
		return nil
	}
	return l.disagree(r, m.GetRev(), want, r.digest)
}

// finish ends a catch-up if its outcome is what the hub holds. What was deleted while the edge was away the changes can't
// tell, so the first outcome may be another; that of a reconcile may not.
func (l *link) finish(r *replica, rev uint64, want delta.Digest) error {
	r.rewound = r.rewound || r.goesBack(rev)
	got := r.outcome()
	if got != want && r.asked {
		return l.disagree(r, rev, want, got)
	}
	if got != want {
		return l.inventory(r, want.Apart(got), "")
	}
	if r.rewound {
		l.e.f.stats.rewinds.Add(1)
	}
	r.finish(rev)
	r.live, r.asked = true, false
	l.owe(true)
	return nil
}

// disagree counts a mismatch and asks for what differs.
func (l *link) disagree(r *replica, rev uint64, want, got delta.Digest) error {
	l.e.f.stats.mismatches.Add(1)
	l.e.f.cfg.Logger.Warn("hub and edge disagree", "edge", l.e.name, "resource", r.kind.gr, "rev", rev,
		"hub", want.Count, "holds", got.Count)
	return l.inventory(r, want.Apart(got), fmt.Sprintf("at %d the hub holds %d objects, the edge %d", rev, want.Count, got.Count))
}
