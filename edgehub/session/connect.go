package session

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// connect runs a session with a hub, and those that take over from it. It tells whether anything came of them, and how
// long to stay away at least. A hub that has too much to do says when to come again: the connection is kept until then, so
// that it costs no second handshake.
func (c *Client) connect(ctx context.Context, hub string) (progressed bool, retry time.Duration, err error) {
	l, err := c.dialLine(hub)
	if err != nil {
		return false, 0, err
	}
	for {
		s, err := c.join(ctx, l, ctx)
		if err == nil {
			if err = s.greet(); err == nil {
				return c.follow(s)
			}
			err = s.stop(err)
		}
		l.keys.failed(err)
		wait := retryDelay(err)
		if wait == 0 || len(c.cfg.Hubs) > 1 || !sleep(ctx, wait) {
			l.close()
			return false, max(wait, c.replaced(hub, err)), err
		}
	}
}

// follow serves a session, and those that take over from it, to the end.
func (c *Client) follow(s *session) (progressed bool, retry time.Duration, err error) {
	for {
		next, err := s.apply(s.ctx, s.in)
		progressed = progressed || s.progressed
		if next == nil {
			err = s.end(err)
			if retry = c.replaced(s.line.hub, err); retry > 0 {
				progressed = false
			}
			return progressed, max(time.Duration(s.stayAway.Load()), retry), err
		}
		next.timer.Reset(c.cfg.ConnectTimeout)
		if err := next.greet(); err != nil {
			err = next.stop(err)
			next.outcome <- err
			if next.welcomed {
				return progressed, 0, s.end(err) // it has begun already
			}
			continue // s goes on where it was
		}
		next.outcome <- nil
		c.log.Info("session left for another one", "hub", s.line.hub, "for", next.line.hub)
		_ = s.stop(errLeft) // it has said all that matters
		c.lines.leave(s.line)
		s = next
	}
}

// errNoWelcome stands for what ended a stream before the Welcome came.
var errNoWelcome = errors.New("no Welcome")

// errLeft ends a session that another one has taken over from.
var errLeft = errors.New("another session has taken over")

// join opens a session's stream. The attempt, up to the Welcome, ends with giveUp at the latest, the session with ctx.
func (c *Client) join(ctx context.Context, l *line, giveUp context.Context) (*session, error) { //nolint:revive // two lifetimes
	sctx, cancel := context.WithCancelCause(ctx)
	// The stream is opened once the connection is up; until then this timer is what ends a hub that swallows packets.
	timer := time.AfterFunc(c.cfg.ConnectTimeout, func() { cancel(errors.New("the hub does not answer")) })
	unbind := context.AfterFunc(giveUp, func() { cancel(context.Cause(giveUp)) })
	stream, err := tombolov1.NewSyncServiceClient(l.conn).Sync(sctx)
	if err != nil {
		timer.Stop()
		unbind()
		err = explain(sctx, err)
		cancel(err)
		return nil, err
	}
	return &session{
		c: c, ctx: sctx, cancel: cancel, line: l, hub: l.hub, conn: l.conn, stream: stream, timer: timer, unbind: unbind,
		ids: map[uint32]*replica{}, numbers: map[*replica]uint32{}, acks: newAcks(),
		next: make(chan *session), outcome: make(chan error, 1),
	}, nil
}

// greet says Hello and waits for the Welcome. It must be followed by stop when it fails.
func (s *session) greet() error {
	defer s.unbind()
	if err := s.hello(); err != nil {
		for errors.Is(err, io.EOF) || err == nil { // the hub has ended the stream already, and says why behind all else
			if _, err = s.stream.Recv(); errors.Is(err, io.EOF) {
				err = errNoWelcome
			}
		}
		return explain(s.ctx, err)
	}
	s.in, s.ended = make(chan *tombolov1.SyncResponse, queued), make(chan error, 1)
	go func() {
		s.ended <- s.receive(s.ctx, s.in)
		close(s.in)
	}()
	select {
	case m, ok := <-s.in:
		if !ok {
			return errNoWelcome
		}
		return s.control(m)
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// opened is called with the Welcome.
func (s *session) opened() {
	s.timer.Stop()
	s.line.keys.taken()
}

// end ends the session, with no other in its place, and returns why.
func (s *session) end(err error) error {
	s.disconnected()
	err = s.stop(err)
	if s.drained.Load() {
		s.c.lines.leave(s.line) // calls may go on for a moment
	} else {
		s.line.close()
	}
	return err
}

// stop ends the stream and all that goes on for the session, and returns why it ended: err, or what the hub said.
func (s *session) stop(err error) error {
	s.timer.Stop()
	s.unbind()
	s.cancel(err)
	s.closeDesk()
	s.scouts.Wait()
	if s.in == nil {
		return err
	}
	for range s.in { //nolint:revive // receive may be waiting to hand over a message
	}
	if received := <-s.ended; err == nil || errors.Is(err, errNoWelcome) {
		err = received
	}
	return explain(s.ctx, err)
}

// replacedDelay keeps two processes under one name from throwing each other out without a pause.
const replacedDelay = 15 * time.Second

// replaced returns how long to stay away from a hub that says that another process has the edge's name.
func (c *Client) replaced(hub string, err error) time.Duration {
	if status.Code(err) != codes.Aborted {
		return 0
	}
	c.log.Error("another process has connected under this edge's name", "hub", hub)
	return replacedDelay
}

// explain prefers the reason why we gave up a session over the cancellation that it led to.
func explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && (status.Code(err) == codes.Canceled || errors.Is(err, context.Canceled)) {
		return cause
	}
	return err
}
