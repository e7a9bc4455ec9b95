package fleet

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Fleet is a crowd of edges.
type Fleet struct {
	cfg   Config
	edges []*edge
	inbox *inbox
	pool  *pool
	kinds kinds
	pace  *rate.Limiter
	stats tally
	now   atomic.Int64 // Unix nanoseconds, as of the clock's last tick
	// documents is the hash of the API documents that a hub has told of last: edges claim to hold them, because the fleet
	// fetches none.
	documents atomic.Pointer[string]
}

// New returns a fleet. It fails when the configuration is not sound.
func New(cfg Config) (*Fleet, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	f := &Fleet{cfg: cfg, inbox: newInbox(cfg.Whole), pool: newPool(), pace: rate.NewLimiter(rate.Inf, 1)}
	if cfg.ConnectRate > 0 {
		f.pace = rate.NewLimiter(rate.Limit(cfg.ConnectRate), max(1, int(cfg.ConnectRate/10)))
	}
	f.kinds.known = map[string]*kind{}
	for i := range cfg.Edges {
		f.edges = append(f.edges, &edge{
			f: f, name: cfg.name(i), turn: i, stuck: i >= cfg.Edges-cfg.Stuck,
			ackDelay: minAckDelay + (maxAckDelay-minAckDelay)*time.Duration(i)/time.Duration(cfg.Edges),
		})
	}
	return f, nil
}

// Run keeps all edges connected until ctx ends; then it returns nil. It fails with ErrNonsense, and the edge's name and
// hub, as soon as a hub sends one of them what the protocol does not allow.
func (f *Fleet) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var failed atomic.Pointer[error]
	defer context.AfterFunc(ctx, f.Cut)()
	f.now.Store(time.Now().UnixNano())
	var wg sync.WaitGroup
	wg.Go(func() { f.watch(ctx) })
	for _, e := range f.edges {
		wg.Go(func() {
			if err := e.run(ctx); err != nil && failed.CompareAndSwap(nil, &err) {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Cut breaks all connections at once, as an outage of the link would. The edges connect again.
func (f *Fleet) Cut() {
	for _, e := range f.edges {
		e.cut()
	}
}
