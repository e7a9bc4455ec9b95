package syncsrv

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// resumeHeld subscribes to what goes on from a Hello's positions with nothing but events, and says so in the Welcome. It
// waits for nothing: an outage ends with thousands of Hellos at once, and nearly all of them want no more than this.
func (s *session) resumeHeld(hello *tombolov1.Hello, sc scope.Scope, want []schema.GroupResource, w *tombolov1.Welcome) {
	s.lastID = uint32(len(hello.GetPositions())) //nolint:gosec // as many as a message has room for
	for i, p := range hello.GetPositions() {
		gr := groupResource(p.GetResource())
		if !slices.Contains(want, gr) || s.subscribed(gr) != nil {
			continue
		}
		n := uint32(i) //nolint:gosec // likewise
		u := &subscription{s: s, id: n + 1, gr: gr, scope: sc, have: readPosition(hello, p)}
		if !u.resumeHeld() {
			u.close()
			continue
		}
		s.subs = append(s.subs, u)
		s.srv.metrics.plans.WithLabelValues(tombolov1.Plan_PLAN_RESUME.String()).Inc()
		w.Resumed = append(w.Resumed, n)
		if !u.resumed {
			w.Agreed = append(w.Agreed, n)
		}
	}
}

// resumeHeld goes live from what the edge has, if nothing stands against it. Afterwards u.resumed is unset when there is
// nothing more to say: the edge has missed nothing, and holds what it should.
func (u *subscription) resumeHeld() bool {
	have := u.have
	if have.rev == 0 || have.staged != 0 || have.epoch != u.s.epoch {
		return false
	}
	var ok bool
	if u.log, u.release, ok = u.s.srv.cfg.Held.Held(u.gr); !ok || !u.s.heldInputs(u.scope.Sources(u.gr)) {
		return false
	}
	var err error
	if u.view, err = u.s.viewOf(u.scope, u.log.Resource()); err != nil || u.view.Hash() != have.view || have.rev > u.log.Rev() {
		return false
	}
	if u.log.Behind(have.rev) > maxResumed {
		return false
	}
	u.projection = u.s.srv.projections.of(u.log, u.view)
	match := u.match(have)
	if match == differs {
		return false
	}
	if u.reader, err = u.log.NewReader(have.rev, u, u.view.Terms()...); err != nil {
		return false
	}
	u.goLive(have.rev)
	if _, lost := u.log.Lost(); match == agrees && !lost {
		u.checked = checked{have.digest, true}
		u.checkAt = time.Now().Add(u.s.srv.cfg.CheckInterval)
	} else {
		u.resumed = true
	}
	return true
}

// maxResumed is how many events an edge may be behind and still be told each of them. One that was away for longer, which a
// log may still reach back over, is sent the newest versions: that is less, for it and for the hub.
const maxResumed = 50_000

// match is how what an edge holds at its position compares with what it should hold there.
type match uint8

const (
	unknown match = iota // the edge did not say, or the hub can't tell any more
	differs
	behind // they are the same, and something of the view has happened since, or may have
	agrees // they are the same, and are now
)

func (u *subscription) match(have position) match {
	if !have.told || have.rev == 0 || u.log.Behind(have.rev) > maxUndone {
		return unknown
	}
	want, changed, err := u.projection.at(have.rev)
	switch {
	case err != nil:
		return unknown
	case want != have.digest:
		return differs
	case changed:
		return behind
	default:
		return agrees
	}
}
