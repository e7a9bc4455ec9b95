package syncsrv

import (
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

const (
	// drainGrace is how long a session may go on after it was asked to leave a hub that shuts down.
	drainGrace = 2 * time.Second
	// ageGrace is the same for a session that is asked to go elsewhere because of its age: there is no hurry.
	ageGrace = 30 * time.Second
)

// leaving is why, and how, an edge is to leave.
type leaving struct {
	reason string
	retry  time.Duration // when it may try this hub again, at the earliest
	grace  time.Duration // when the session is ended if it is still there
}

// askToLeave asks the edge to leave in good order, from any goroutine. Until it does, it is served.
func (s *session) askToLeave(l leaving) {
	s.leave.Store(&l)
	s.Wake()
}

// goodbye asks the edge to leave when that is due, and ends the session when the edge does not do so in time.
func (s *session) goodbye(now time.Time) error {
	if !s.leaveAt.IsZero() && !now.Before(s.leaveAt) {
		s.leaveAt = time.Time{}
		s.leave.CompareAndSwap(nil, &leaving{reason: "the session is old: edges are spread over the hubs anew", grace: ageGrace})
	}
	if l := s.leave.Swap(nil); l != nil {
		s.endAt = now.Add(l.grace)
		return s.send(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Drain{Drain: &tombolov1.Drain{
			RetryAfterMs: uint32(l.retry / time.Millisecond), Reason: l.reason, //nolint:gosec // minutes at most
		}}})
	}
	if !s.endAt.IsZero() && !now.Before(s.endAt) {
		return status.Error(codes.Unavailable, "the edge was asked to leave")
	}
	return nil
}

// jittered returns d, up to a tenth more or less.
func jittered(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d - d/10 + rand.N(d/5+1) //nolint:gosec // spreads load, keeps no secret
}
