package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/stats"
)

const (
	maxMessage   = 16 << 20
	streamWindow = 64 << 10
	// callGrace is how long calls may go on over a connection whose session has gone elsewhere, if its hub does not go away,
	// which has a bound of its own. Hubs bound the connections of an edge, too.
	callGrace = time.Hour
	// lineLinger is how long such a connection is kept in any case: a call may be about to begin on it.
	lineLinger = time.Second
)

// line is a connection to a hub: for a session, and for calls, which may go on when the session has left.
type line struct {
	hub  string
	conn *grpc.ClientConn
	keys *renewal // credentials that are not taken over yet; nil else

	mu   sync.Mutex
	open int           // RPCs under way; guarded by mu
	idle chan struct{} // closed when there is none and somebody waits for that, who made it; guarded by mu
}

// dialLine returns a line to a hub. It connects when it is used first.
func (c *Client) dialLine(hub string) (*line, error) {
	creds, proposed := c.keys.current()
	l := &line{hub: hub, keys: proposed}
	conn, err := grpc.NewClient("passthrough:///"+hub,
		grpc.WithTransportCredentials(creds),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage), grpc.ForceCodecV2(newCodec()),
		),
		grpc.WithStaticStreamWindowSize(streamWindow), grpc.WithStaticConnWindowSize(streamWindow),
		grpc.WithReadBufferSize(8<<10), grpc.WithWriteBufferSize(4<<10),
		grpc.WithStatsHandler(wireCounter{&c.bytes}), grpc.WithStatsHandler(l),
		grpc.WithContextDialer(c.dial),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
	)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	l.conn = conn
	return l, nil
}

// TagRPC implements stats.Handler.
func (*line) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// TagConn implements stats.Handler.
func (*line) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (*line) HandleConn(context.Context, stats.ConnStats) {}

// HandleRPC implements stats.Handler: it counts what is under way.
func (l *line) HandleRPC(_ context.Context, s stats.RPCStats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch s.(type) {
	case *stats.Begin:
		l.open++
	case *stats.End:
		if l.open--; l.open == 0 && l.idle != nil {
			close(l.idle)
			l.idle = nil
		}
	}
}

// quiet returns a channel that is closed once nothing is under way. There is one who waits at a time.
func (l *line) quiet() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	done := make(chan struct{})
	if l.open == 0 {
		close(done)
		return done
	}
	l.idle = done
	return done
}

// close ends what is under way.
func (l *line) close() {
	_ = l.conn.Close() // it is closed already, or is now
}

// lines looks after connections that sessions have left.
type lines struct {
	ctx context.Context // ends with Run
	wg  sync.WaitGroup
}

// open makes it possible to leave lines until the function that it returns is called.
func (ls *lines) open(ctx context.Context) func() {
	ctx, cancel := context.WithCancel(ctx)
	ls.ctx = ctx
	return func() {
		cancel()
		ls.wg.Wait()
	}
}

// leave closes a line once the calls on it have ended, or have had their time.
func (ls *lines) leave(l *line) {
	ls.wg.Go(func() {
		defer l.close()
		if !sleep(ls.ctx, lineLinger) {
			return
		}
		limit := time.NewTimer(callGrace)
		defer limit.Stop()
		select {
		case <-l.quiet():
		case <-limit.C:
		case <-ls.ctx.Done():
		}
	})
}
