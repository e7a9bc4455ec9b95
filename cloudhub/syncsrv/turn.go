package syncsrv

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// turnBytes is how many bytes of catch-ups and documents a turn sends, unless one message has more.
const turnBytes = 64 << 10

// turn does a bounded piece of the session's work: in an urgent turn what is small, mail and live events, in a bulk turn
// catch-ups and documents as well. What fails, or panics, ends this session alone.
func (s *session) turn(k kind) (more bool) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("session panicked", "panic", p, "stack", string(debug.Stack()))
			s.srv.metrics.panics.Inc()
			s.end(status.Error(codes.Internal, "internal error"))
			more = false
		}
	}()
	if s.ctx.Err() != nil {
		return false
	}
	buf := takeEventBuf()
	s.buf = buf[:0]
	more, err := s.run(s.ctx, k)
	s.buf = nil
	buf.putBack()
	if err != nil {
		s.end(err)
		return false
	}
	return more
}

// run does a turn's work.
func (s *session) run(ctx context.Context, k kind) (more bool, err error) {
	now := time.Now()
	s.blocked = false
	s.forgetLooks()
	if s.hello != nil {
		if err := s.begin(ctx); err != nil {
			return false, err
		}
	}
	if err := s.flush(); err != nil {
		return false, err
	}
	if err := s.keepTime(ctx, now); err != nil {
		return false, err
	}
	if more, err = s.readMail(ctx, k); err != nil {
		return false, err
	}
	if err := s.reconsider(ctx); err != nil {
		return false, err
	}
	until, held := s.pace.holds(s.received.Load())
	if err = s.sendLive(ctx, held); err != nil {
		return false, err
	}
	if k == bulk {
		if err = s.sendBulk(ctx); err != nil {
			return false, err
		}
	}
	if err := s.sayLost(); err != nil {
		return false, err
	}
	more = !s.park() && (more || s.pace.flowing || s.hasBulk())
	if !held {
		until = s.tickAt
	}
	s.arm(until)
	return more, nil
}

// sendLive sends the next page of each live subscription that has something new. What is held waits for an ack or for
// the time that pace says, but for answers, which somebody waits for.
func (s *session) sendLive(ctx context.Context, held bool) error {
	flowing := false
	for _, u := range s.subs {
		if len(u.answers) == 0 && (u.phase != live || held || !u.dirty.Load()) {
			continue
		}
		if s.full() {
			break
		}
		if u.phase == live {
			u.dirty.Store(false)
			more, err := u.step(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", u.gr, err)
			}
			if more {
				u.dirty.Store(true)
				flowing = flowing || u.phase == live
			}
		}
		if err := u.answer(); err != nil {
			return err
		}
	}
	s.pace.flowing = flowing
	return nil
}

// sendBulk sends documents and a part of the catch-ups, of each subscription in turn.
func (s *session) sendBulk(ctx context.Context) error {
	if s.full() {
		return nil
	}
	if _, err := s.stepDocuments(); err != nil {
		return err
	}
	start := s.sent
	subs := s.subs
	for i := range subs {
		if s.sent-start >= turnBytes || s.full() {
			s.next += i
			return nil
		}
		u := subs[(s.next+i)%len(subs)]
		if !u.hasBulk() {
			continue
		}
		if _, err := u.step(ctx); err != nil {
			return fmt.Errorf("%s: %w", u.gr, err)
		}
	}
	return nil
}

// hasBulk tells whether a bulk turn has something to send.
func (s *session) hasBulk() bool {
	return s.documentsDue() || slices.ContainsFunc(s.subs, (*subscription).hasBulk)
}

func (u *subscription) hasBulk() bool {
	return u.phase == changing || u.phase == reconciling || u.phase == disputed && u.dirty.Load()
}

// sayLost tells the edge at once when the hub has lost sight of the cloud, or sees it again.
func (s *session) sayLost() error {
	if !slices.ContainsFunc(s.subs, func(u *subscription) bool { return u.isLost() != u.saidLost }) || s.full() {
		return nil
	}
	return s.sendProgress(&tombolov1.Progress{})
}

// park tells whether the session has to wait for room, and sees to it that it is woken when there is some.
func (s *session) park() bool {
	if !s.blocked {
		return false
	}
	s.parked.Store(true) // before the look, so that room which is made behind it wakes
	if !s.full() && s.parked.Swap(false) {
		s.Wake()
	}
	return true
}

// keepTime does what is due now and then.
func (s *session) keepTime(ctx context.Context, now time.Time) error {
	if !now.Before(s.armed) {
		s.armed = time.Time{}
	}
	if err := s.goodbye(now); err != nil {
		return err
	}
	if s.rescoped.Load() && !s.full() {
		s.rescoped.Store(false) // before the scope is read
		if err := s.srv.standing(ctx, s.edge); err != nil {
			return err
		}
		if err := s.rescope(ctx); err != nil {
			return err
		}
	}
	if now.Before(s.tickAt) {
		return nil
	}
	s.takeStock(now)
	s.tickAt = now.Add(s.srv.cfg.ProgressInterval)
	return s.tick(ctx, now)
}

// tick sends what is due now and then: positions that moved without an event, digests to compare, another attempt at
// resources that could not be opened.
func (s *session) tick(ctx context.Context, now time.Time) error {
	if err := s.sameEpoch(); err != nil {
		return err
	}
	if s.full() {
		return nil // an edge that makes no progress is told nothing
	}
	s.srv.projections.runs.expire(now)
	p := &tombolov1.Progress{}
	for _, u := range s.subs {
		if err := u.tick(ctx, now, p); err != nil {
			return err
		}
	}
	return s.sendProgress(p)
}

// arm has the clock wake the session at the next time that something is due.
func (s *session) arm(due time.Time) {
	if s.tickAt.Before(due) {
		due = s.tickAt
	}
	if !s.endAt.IsZero() && s.endAt.Before(due) {
		due = s.endAt
	}
	if s.armed.IsZero() || due.Before(s.armed) {
		s.armed = s.srv.clock.at(due, &s.job)
	}

}
