package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tombolo-sync/tombolo/internal/fleet/wire"
)

// edge is one edge. Fields without a remark belong to the goroutine of run.
type edge struct {
	f        *Fleet
	name     string
	turn     int // counts the attempts to connect, from the edge's number on
	stuck    bool
	ackDelay time.Duration
	ticket   ticket
	replicas []*replica // few: looked through

	// The clock and Cut look at these. Times are Unix nanoseconds, 0 for never.
	conn atomic.Pointer[wire.Conn] // nil for none
	due  atomic.Int64              // when the edge is to send an ack
	lost atomic.Int64              // when the hub is lost, unless it says something
}

// run keeps the edge connected until ctx ends. It fails with ErrNonsense only.
func (e *edge) run(ctx context.Context) error {
	if e.f.pace.Wait(ctx) != nil {
		return nil //nolint:nilerr // ctx has ended
	}
	for bound := time.Duration(0); ; {
		hub := e.f.cfg.Hubs[e.turn%len(e.f.cfg.Hubs)]
		l := &link{e: e}
		err := e.connect(ctx, hub, l)
		if errors.Is(err, ErrNonsense) {
			return fmt.Errorf("%s, hub %s: %w", e.name, hub, err)
		}
		if ctx.Err() != nil {
			return nil
		}
		e.f.stats.failed(err)
		e.f.cfg.Logger.Debug("no session", "edge", e.name, "hub", hub, "err", err)
		if l.welcomed {
			bound = 0
		} else {
			e.turn++
		}
		bound = min(max(2*bound, e.f.cfg.MinBackoff), e.f.cfg.MaxBackoff)
		if !sleep(ctx, max(l.retry, rand.N(bound))) { //nolint:gosec // spreads load, keeps no secret
			return nil
		}
	}
}

// connect runs one session with a hub. A hub that has too much to do says when to come again: the connection is kept
// until then, as an edgehub does.
func (e *edge) connect(ctx context.Context, hub string, l *link) error {
	deadline := time.Now().Add(e.f.cfg.ConnectTimeout)
	conn, err := e.dial(ctx, hub, deadline)
	if err != nil {
		return err
	}
	e.conn.Store(conn)
	defer func() {
		e.conn.Store(nil)
		conn.Close()
	}()
	l.stream, l.opened = conn, func() { conn.SetDeadline(time.Time{}) }
	for ctx.Err() == nil { // when it ends from here on, the connection is cut
		err := e.attempt(ctx, l)
		wait := retryDelay(err)
		if wait == 0 || len(e.f.cfg.Hubs) > 1 {
			l.retry = max(l.retry, wait)
			return err
		}
		e.f.stats.failed(err)
		if err := conn.Rest(time.Now().Add(wait)); err != nil {
			return err
		}
		conn.SetDeadline(time.Now().Add(e.f.cfg.ConnectTimeout))
	}
	return ctx.Err()
}

// attempt runs one session on a connection.
func (e *edge) attempt(ctx context.Context, l *link) error {
	defer l.close()
	return l.run(ctx)
}

// longestRetry bounds what a hub may say about when to come again.
const longestRetry = 5 * time.Minute

// retryDelay returns when a hub wants to be asked again that has refused a session because it has too much to do, 0 when
// it didn't say.
func retryDelay(err error) time.Duration {
	s, ok := status.FromError(err)
	if !ok || s.Code() != codes.ResourceExhausted {
		return 0
	}
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return min(max(0, info.GetRetryDelay().AsDuration()), longestRetry)
		}
	}
	return 0
}

// cut breaks the edge's connection, from any goroutine.
func (e *edge) cut() {
	if c := e.conn.Load(); c != nil {
		c.Close() // the session notices
	}
}

// sleep waits, or returns false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
