package fleet

import (
	"slices"
	"time"
	"unique"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// hello tells what the edge holds.
func (l *link) hello() *tombolov1.Hello {
	h := &tombolov1.Hello{Version: Version, Edge: l.e.name, Software: l.e.f.cfg.Software}
	if !l.e.f.cfg.Whole {
		h.Capabilities = []tombolov1.Capability{
			tombolov1.Capability_CAPABILITY_ZSTD_PATCH, tombolov1.Capability_CAPABILITY_ZSTD_BATCH,
			tombolov1.Capability_CAPABILITY_RANGES, tombolov1.Capability_CAPABILITY_RESUMED,
			tombolov1.Capability_CAPABILITY_LAZY_ACKS,
		}
	}
	if docs := l.e.f.documents.Load(); docs != nil {
		h.DocumentsHash = *docs
	}
	l.said = slices.Clone(l.e.replicas)
	for _, r := range l.said {
		r.id, r.live, r.asked, r.exact, r.needed, r.missed, r.sums = 0, false, false, nil, false, nil, nil
		r.moved = false
		if h.GetEpoch() == "" {
			h.Epoch = r.pending.epoch.Value()
		}
		p := &tombolov1.Position{
			Resource: &tombolov1.Resource{Group: r.kind.gr.Group, Resource: r.kind.gr.Resource},
			View:     r.known(), Rev: r.rev, StagedRev: r.stagedRev,
			Count: r.digest.Count, Digest: r.digest.Bytes(),
		}
		if epoch := r.pending.epoch.Value(); epoch != h.GetEpoch() {
			p.Epoch = epoch
		}
		h.Positions = append(h.Positions, p)
	}
	return h
}

func (l *link) welcome(w *tombolov1.Welcome) error {
	switch {
	case l.welcomed:
		return nonsense("a second Welcome")
	case w.GetVersion() != Version:
		return nonsense("it speaks protocol version %d, the fleet speaks %d", w.GetVersion(), Version)
	case w.GetEpoch() == "" && len(w.GetResumed()) == 0:
		return nonsense("it does not name its cluster")
	}
	l.opened()
	l.silence = silences * time.Duration(w.GetProgressIntervalMs()) * time.Millisecond
	l.welcomed, l.epoch = true, unique.Make(w.GetEpoch())
	if w.GetEpoch() == "" && len(l.said) > 0 {
		l.epoch = l.said[0].pending.epoch // as the Hello's
	}
	l.ranges = !l.e.f.cfg.Whole && slices.Contains(w.GetCapabilities(), tombolov1.Capability_CAPABILITY_RANGES)
	l.lazy = !l.e.f.cfg.Whole && slices.Contains(w.GetCapabilities(), tombolov1.Capability_CAPABILITY_LAZY_ACKS)
	l.e.f.stats.opened()
	l.e.replicas = slices.DeleteFunc(l.e.replicas, func(r *replica) bool { return r.pending.epoch != l.epoch })
	for _, r := range w.GetScope() {
		l.awaited = append(l.awaited, groupResource(r))
	}
	return l.resume(w.GetResumed(), w.GetAgreed())
}

// resume goes on with the positions that a Welcome resumes, as if a Subscription had come for each.
func (l *link) resume(resumed, agreed []uint32) error {
	said := l.said
	l.said = nil
	if len(resumed) > 0 && l.e.f.cfg.Whole {
		return nonsense("it resumes positions, which was not agreed on")
	}
	for i, n := range resumed {
		if uint64(n) >= uint64(len(said)) || i > 0 && n <= resumed[i-1] {
			return nonsense("it resumes position %d of %d, behind %v", n, len(said), resumed[:i])
		}
		r := said[n]
		if r.rev == 0 || r.pending.epoch != l.epoch {
			return nonsense("%s: it resumes what has no state", r.kind.gr)
		}
		l.e.f.stats.plan(tombolov1.Plan_PLAN_RESUME)
		r.id, r.pending = n+1, target{l.epoch, r.view}
		r.discard()
	}
	for i, n := range agreed {
		if !slices.Contains(resumed, n) || i > 0 && n <= agreed[i-1] {
			return nonsense("it agrees with position %d, which it does not resume", n)
		}
		said[n].live = true
	}
	return nil
}
