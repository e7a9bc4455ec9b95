package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// edge is one edge. Fields without a remark belong to the goroutine of run.
type edge struct {
	f           *Fleet
	name        string
	credentials credentials.TransportCredentials
	turn        int // counts the attempts to connect, from the edge's number on
	stuck       bool
	replicas    []*replica // few: looked through
	conn        atomic.Pointer[net.Conn]
}

// run keeps the edge connected until ctx ends. It fails with ErrNonsense only.
func (e *edge) run(ctx context.Context) error {
	for bound := time.Duration(0); ; {
		if e.f.pace.Wait(ctx) != nil {
			return nil //nolint:nilerr // ctx has ended
		}
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

// connect runs one session with a hub.
func (e *edge) connect(ctx context.Context, hub string, l *link) error {
	conn, err := grpc.NewClient("passthrough:///"+hub, e.dialOptions(l)...)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer conn.Close() //nolint:errcheck // nothing is under way any more
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.AfterFunc(e.f.cfg.ConnectTimeout, cancel)
	defer timer.Stop()
	l.opened = func() { timer.Stop() }
	stream, err := tombolov1.NewSyncServiceClient(conn).Sync(ctx)
	if err != nil {
		return err
	}
	l.stream = stream
	defer l.close()
	return l.run(ctx)
}

// cut breaks the edge's connection, from any goroutine.
func (e *edge) cut() {
	if c := e.conn.Load(); c != nil {
		_ = (*c).Close() // the session notices
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
