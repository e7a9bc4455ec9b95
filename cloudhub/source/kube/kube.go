package kube

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/round"
)

// Kube takes objects from a kube-apiserver. It is safe for concurrent use.
type Kube struct {
	cfg     Config
	log     *slog.Logger
	klog    klog.Logger
	api     *api
	calls   *calls
	docs    *documents
	metrics *metrics
	// clusters asks which cluster it is; set before anything is followed.
	clusters *round.Table[struct{}, struct{}]
	changed  chan struct{} // holds a signal when definitions may have changed
	// specChanged is the same for the OpenAPI documents.
	specChanged chan struct{}
	started     chan struct{} // closed once epoch and documents are known

	mu       sync.Mutex // guards all below
	runCtx   context.Context
	stopping bool // Run is ending; nothing starts any more
	epoch    string
	startErr error // why it has not started yet
	// feeds holds the resources in use, those that wait for their last user to come back, and those that were refused.
	feeds map[schema.GroupResource]*feed
	tasks sync.WaitGroup // the feeds' goroutines; added to only while stopping is unset
}

// New returns a source that is to be Run. It sends no request yet.
func New(c Config) (*Kube, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	a, err := newAPI(c.REST)
	if err != nil {
		return nil, err
	}
	through, err := newCalls(c.REST, a.base)
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(c.Metrics)
	if err != nil {
		return nil, err
	}
	return &Kube{
		cfg: c.withDefaults(), log: c.Logger, klog: newKlog(c.Logger), api: a, calls: through,
		docs: newDocuments(a), metrics: m,
		changed: make(chan struct{}, 1), specChanged: make(chan struct{}, 1), started: make(chan struct{}), feeds: map[schema.GroupResource]*feed{},
	}, nil
}

// Epoch returns the UID of the cluster's kube-system namespace; "" before Started. It changes when another cluster takes
// over the address.
func (k *Kube) Epoch() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.epoch
}

// Started is closed once the API server was reached, and epoch and documents are known.
func (k *Kube) Started() <-chan struct{} { return k.started }

// Documents returns the API documents: discovery, version and OpenAPI, kept current while Run runs.
func (k *Kube) Documents() *apidoc.Set { return k.docs.set }

// Run follows the API server until ctx ends, and returns nil then. An API server that can't be reached is no error: it is
// tried until it can. Run may be called once.
func (k *Kube) Run(ctx context.Context) error {
	g, runCtx := errgroup.WithContext(ctx)
	k.mu.Lock()
	if k.runCtx != nil {
		k.mu.Unlock()
		return errors.New("kube: Run was called before")
	}
	k.runCtx = runCtx
	k.clusters = round.NewTable(runCtx, requestTimeout, 1, k.askCluster)
	k.mu.Unlock()
	g.Go(func() error { return k.work(runCtx) })
	err := g.Wait()
	k.shutDown()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (k *Kube) work(ctx context.Context) error {
	if err := k.start(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return k.followDocuments(ctx) })
	g.Go(func() error { return k.followCluster(ctx) })
	g.Go(func() error { return k.followOpenAPI(ctx) })
	for _, gvr := range definitions {
		if _, ok := k.docs.catalogue.Load().version(gvr.GroupResource(), gvr.Version); ok {
			g.Go(func() error { return k.followDefinitions(ctx, gvr) })
		}
	}
	return g.Wait()
}

// start returns when epoch and documents are known.
func (k *Kube) start(ctx context.Context) error {
	backoff := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 10 * time.Second}
	for {
		err := k.tryStart(ctx)
		if err == nil {
			close(k.started)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		k.mu.Lock()
		k.startErr = err
		k.mu.Unlock()
		pause := backoff.Step()
		k.log.Warn("API server can't be used yet", "error", err, "retry_in", pause)
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

func (k *Kube) tryStart(ctx context.Context) error {
	epoch, err := fetchEpoch(ctx, k.api)
	if err != nil {
		return err
	}
	if _, err := k.docs.refresh(ctx, time.Now(), true); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.epoch = epoch
	return nil
}

// followDocuments keeps discovery current, and ends feeds whose resource is not what it was.
func (k *Kube) followDocuments(ctx context.Context) error {
	return follow(ctx, k.changed, k.cfg.RefreshEvery, func(whole, _ bool) { k.refresh(ctx, whole) })
}

// followOpenAPI keeps the OpenAPI documents current. Those of version 2 change as a whole with every definition, so they
// are read only once definitions have settled.
func (k *Kube) followOpenAPI(ctx context.Context) error {
	k.refreshOpenAPI(ctx, true)
	return follow(ctx, k.specChanged, k.cfg.RefreshEvery, func(_, isSettled bool) { k.refreshOpenAPI(ctx, isSettled) })
}

func (k *Kube) refreshOpenAPI(ctx context.Context, isSettled bool) {
	err := k.docs.refreshOpenAPI(ctx, isSettled)
	if err == nil || ctx.Err() != nil {
		return
	}
	k.log.Warn("OpenAPI documents can't be fetched, the old ones stay", "error", err)
}

func (k *Kube) refresh(ctx context.Context, full bool) {
	changed, err := k.docs.refresh(ctx, time.Now(), full)
	result := "same"
	switch {
	case err != nil && ctx.Err() != nil:
		return
	case err != nil:
		k.log.Warn("API documents can't be fetched, the old ones stay", "error", err)
		result = "error"
	case changed:
		k.log.Info("API documents changed", "hash", k.docs.set.Hash())
		result = "changed"
	}
	k.metrics.refresh.WithLabelValues(result).Inc()
	if err == nil {
		k.recheck(ctx)
	}
}

// definitionsChanged has the documents fetched soon.
func (k *Kube) definitionsChanged() { _ = changes{k.changed, k.specChanged}.notify() }

// shutDown ends all feeds and waits for them.
func (k *Kube) shutDown() {
	k.mu.Lock()
	k.stopping = true
	for gr, f := range k.feeds {
		f.keep()
		delete(k.feeds, gr)
	}
	k.mu.Unlock()
	k.tasks.Wait()
	k.clusters.Wait()
	k.api.http.CloseIdleConnections()
	k.calls.close()
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
