package fleet

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"
)

// Fleet is a crowd of edges.
type Fleet struct {
	cfg   Config
	edges []*edge
	pool  *pool
	kinds kinds
	pace  *rate.Limiter
	stats tally
	// documents is the hash of the API documents that a hub has told of last: edges claim to hold them, because the fleet
	// fetches none.
	documents atomic.Pointer[string]
}

// New returns a fleet. Errors: the configuration is not sound, or an edge's credentials can't be made.
func New(cfg Config) (*Fleet, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	f := &Fleet{cfg: cfg, pool: newPool(), pace: rate.NewLimiter(rate.Inf, 1)}
	if cfg.ConnectRate > 0 {
		f.pace = rate.NewLimiter(rate.Limit(cfg.ConnectRate), max(1, int(cfg.ConnectRate/10)))
	}
	f.kinds.known = map[string]*kind{}
	for i := range cfg.Edges {
		creds, err := cfg.Credentials(cfg.name(i))
		if err != nil {
			return nil, err
		}
		f.edges = append(f.edges, &edge{
			f: f, name: cfg.name(i), credentials: creds, turn: i, stuck: i >= cfg.Edges-cfg.Stuck,
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
	var wg sync.WaitGroup
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
