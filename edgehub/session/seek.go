package session

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// A session that is to be left, because its hub goes away or because the edge has other credentials, goes on while a scout
// opens another stream. Once that is open, the session stops taking messages and the new one says Hello: from the same
// positions, so that nothing is missed whichever of the two goes on. With the Welcome the new one takes over, and the old
// connection is left to the calls on it. A hub that does not welcome the edge costs nothing but the wait.

// seekSpread spreads edges that are to leave a hub together over the hubs that are left.
const seekSpread = 500 * time.Millisecond

// seek has a scout look for a session to take over from this one. It belongs to the goroutine of Client.Run.
func (s *session) seek() {
	if s.seeking.CompareAndSwap(false, true) {
		s.scouts.Go(s.scout)
	}
}

// scout offers sessions to take over from s, until one has or there is no reason any more.
func (s *session) scout() {
	defer s.seeking.Store(false)
	wait := backoff{minimum: s.c.cfg.MinBackoff, maximum: s.c.cfg.MaxBackoff}
	for turn := 0; s.leaving() && sleep(s.ctx, s.before(turn)); turn++ {
		err := s.offer(s.elsewhere(turn))
		if err == nil {
			return
		}
		d := max(wait.next(), retryDelay(err))
		if s.drained.Load() && s.elsewhere(turn) == s.hub {
			d = max(d, time.Duration(s.stayAway.Load()))
		}
		s.c.log.Info("no session to take over yet", "hub", s.elsewhere(turn), "err", err, "retry", d.Round(time.Millisecond))
		if !sleep(s.ctx, d) {
			return
		}
	}
}

// leaving tells whether there is a reason to leave the session.
func (s *session) leaving() bool { return s.drained.Load() || s.c.keys.renews(s.line.keys) }

// elsewhere returns the hub to try: of a hub that goes away, any other before it; else the same first.
func (s *session) elsewhere(turn int) string {
	hubs := s.c.cfg.Hubs
	at := max(0, slices.Index(hubs, s.hub))
	if s.drained.Load() {
		at++
	}
	return hubs[(at+turn)%len(hubs)]
}

// before returns how long to wait before an attempt, beside what failures cost.
func (s *session) before(turn int) time.Duration {
	switch {
	case !s.drained.Load() || turn > 0:
		return 0
	case s.elsewhere(0) == s.hub: // another one may answer there, once the address does not lead to this one any more
		return seekSpread + rand.N(seekSpread) //nolint:gosec // spreads load, keeps no secret
	default:
		return rand.N(seekSpread) //nolint:gosec // likewise
	}
}

// offer opens a session with a hub and has it take over.
func (s *session) offer(hub string) error {
	l, err := s.c.dialLine(hub)
	if err != nil {
		return err
	}
	next, err := s.c.join(s.c.lines.ctx, l, s.ctx)
	if err == nil {
		next.timer.Stop()
		select {
		case s.next <- next:
			err = <-next.outcome
		case <-s.ctx.Done():
			err = next.stop(context.Cause(s.ctx))
		}
	}
	if err != nil {
		l.keys.failed(err)
		l.close()
	}
	return err
}

// drain takes note that the hub wants the edge to leave.
func (s *session) drain(m *tombolov1.Drain) {
	s.c.log.Info("the hub asks us to leave", "hub", s.hub, "reason", m.GetReason())
	s.stayAway.Store(int64(min(time.Duration(m.GetRetryAfterMs())*time.Millisecond, longestRetry)))
	s.drained.Store(true)
	s.seek()
}
