package syncsrv

import (
	"math/rand/v2"
	"time"

	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

const (
	// advanceEach is how many progress intervals pass, for each resource of an edge, between two advances of one: together
	// they cost a byte a second. leastAdvance and mostAdvance bound that, in progress intervals: 1 and 5 minutes.
	advanceEach  = 2
	leastAdvance = 12
	mostAdvance  = 60
)

// advances is when an edge is told of a position that moved without an event. Nobody waits for that: who has to know asks a
// Question. It only keeps the position, from which the edge will resume, in the windows of hubs' logs.
type advances struct {
	at    time.Time // the next one
	floor uint64    // where the log's window began at the last one
}

// advanceInterval is how often an edge is told of a resource's position that moves.
func (s *session) advanceInterval() time.Duration {
	return s.srv.cfg.ProgressInterval * time.Duration(min(max(advanceEach*len(s.subs), leastAdvance), mostAdvance))
}

// restartAdvances puts the next advance somewhere into the time between two, so that they come one by one.
func (u *subscription) restartAdvances(now time.Time) {
	u.advances.at = now.Add(rand.N(u.s.advanceInterval())) //nolint:gosec // spreads load, keeps no secret
	u.advances.floor = u.log.Oldest()
}

// advanceDue tells whether the edge is to hear how far the log is: it is time, or what the edge would resume from may soon
// leave the window.
func (u *subscription) advanceDue(now time.Time) bool {
	if !now.Before(u.advances.at) {
		return true
	}
	oldest := u.log.Oldest()
	if oldest == u.advances.floor {
		return false // nothing leaves it
	}
	return u.sentRev < oldest || u.sentRev-oldest < u.log.Rev()-u.sentRev
}

// advance tells the edge how far the log is.
func (u *subscription) advance(now time.Time, p *tombolov1.Progress) {
	u.advances = advances{at: now.Add(u.s.advanceInterval()), floor: u.log.Oldest()}
	if u.readRev > u.sentRev && !u.stepOpen {
		p.Advances = append(p.Advances, &tombolov1.Advance{Subscription: u.id, Rev: u.readRev})
		u.sentRev = u.readRev
	}
}

// checked is a digest that the edge was sent to compare with its own.
type checked struct {
	digest delta.Digest
	fresh  bool // nothing was sent since
}
