package syncsrv

import (
	"context"
	"math/rand/v2"
	"time"
)

// leaveGrace is how long a server that drains waits for sessions to leave: not quite until they are ended.
const leaveGrace = drainGrace * 9 / 10

// Drain takes no more sessions and asks the edges to leave, each of them for another hub first if it finds one. It returns
// when they have, after 2 seconds, or when ctx ends, and tells whether any has left by itself: then there is another hub.
// What sessions are left end soon.
func (s *Server) Drain(ctx context.Context) (left bool) {
	s.health.Shutdown()
	s.mu.Lock()
	s.draining = true
	before := s.count
	for _, sess := range s.sessions {
		sess.askToLeave(s.shuttingDown())
	}
	if before == 0 {
		s.emptied()
	}
	s.mu.Unlock()
	grace := time.NewTimer(leaveGrace)
	defer grace.Stop()
	select {
	case <-s.empty:
	case <-grace.C:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count < before
}

// Shutdown drains the server, unless Drain was called, and waits for what is under way until ctx ends; what is left then
// is cut.
func (s *Server) Shutdown(ctx context.Context) {
	if !s.isDraining() {
		s.Drain(ctx)
	}
	done := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.grpc.Stop()
		<-done
	}
	s.stopped.Do(func() { close(s.stop) })
	s.wg.Wait()
}

func (s *Server) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// shuttingDown is what an edge is told that is to leave. If this hub comes back, its edges are to do so at the rate at which
// it takes them, not all at once.
func (s *Server) shuttingDown() leaving {
	spread := time.Duration(float64(s.count) / s.cfg.OpenRate * float64(time.Second))
	return leaving{
		reason: "the hub is shutting down", grace: drainGrace,
		retry: drainGrace + rand.N(spread+1), //nolint:gosec // spreads load, keeps no secret
	}
}
