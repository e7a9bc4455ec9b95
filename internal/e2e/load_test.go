//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// kind is what a load writes.
type kind struct {
	resource
	namespace string
	body      func(name string, rng *rand.Rand) string
}

// loadKinds are objects inside and outside of defaultScopes.
var loadKinds = []kind{
	{configMaps, "default", func(name string, rng *rand.Rand) string {
		return configMap("default", name, []string{"a", "b"}[rng.IntN(2)], fmt.Sprint(rng.Uint64()))
	}},
	{pods, "default", func(name string, rng *rand.Rand) string {
		return pod("default", name, fmt.Sprintf("node-%d", 1+rng.IntN(2)), "load")
	}},
}

// load writes at a constant rate until it is stopped: creations, updates, deletions, and
// recreations under the same name. Each worker has keys of its own.
type load struct {
	t       testing.TB
	seed    uint64
	kinds   []kind
	writers map[string]*guarantee.Writer // by resource
	limit   *rate.Limiter
	stopped context.CancelFunc
	workers sync.WaitGroup
	count   atomic.Int64 // writes done
	ended   atomic.Bool  // no write comes any more
}

const (
	loadWorkers = 8
	loadKeys    = 12 // of each kind, per worker
)

// startLoad starts a load on objects of its own for each seed. The end of the test stops it.
func startLoad(t testing.TB, h *guarantee.History, cloud *api, seed uint64, perSecond int, kinds ...kind) *load {
	l := &load{
		t: t, seed: seed, kinds: kinds, writers: map[string]*guarantee.Writer{},
		limit: rate.NewLimiter(rate.Limit(perSecond), loadWorkers),
	}
	for _, k := range kinds {
		l.writers[k.name] = guarantee.NewWriter(h, cloud.name, k.name, cloud.client, cloud.base+k.prefix, k.plural, nil)
	}
	l.run(0)
	t.Cleanup(l.stop)
	return l
}

// run starts the workers. Another turn draws otherwise.
func (l *load) run(turn uint64) {
	var ctx context.Context
	ctx, l.stopped = context.WithCancel(l.t.Context())
	l.ended.Store(false)
	for n := range uint64(loadWorkers) {
		rng := rand.New(rand.NewPCG(l.seed, n+turn*loadWorkers))
		l.workers.Go(func() { l.work(ctx, fmt.Sprintf("load-%d-%d", l.seed, n), rng, l.kinds) })
	}
}

// goOn starts a load that was stopped again, on what the cloud, which was restored meanwhile, has of its objects.
func (l *load) goOn(turn uint64) {
	l.t.Helper()
	for _, w := range l.writers {
		await(l.t, w.Relearn)
	}
	l.run(turn)
}

// stop ends the load once what is under way is done, its outcome known.
func (l *load) stop() {
	l.stopped()
	l.workers.Wait()
	l.ended.Store(true)
}

// awaitCount waits until so many writes more were done.
func (l *load) awaitCount(n int64) {
	l.t.Helper()
	goal := l.count.Load() + n
	eventually(l.t, func() error {
		if now := l.count.Load(); now < goal {
			return fmt.Errorf("%d writes done, waiting for %d", now, goal)
		}
		return nil
	})
}

// awaitMore returns a wait for so many writes more, or for the end of the load.
func (l *load) awaitMore(n int64) func(ctx context.Context) {
	return func(ctx context.Context) {
		for goal := l.count.Load() + n; l.count.Load() < goal && ctx.Err() == nil && !l.ended.Load(); {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func (l *load) work(ctx context.Context, worker string, rng *rand.Rand, kinds []kind) {
	for l.limit.Wait(ctx) == nil {
		k := kinds[rng.IntN(len(kinds))]
		name := fmt.Sprintf("%s-%02d", worker, rng.IntN(loadKeys))
		if err := l.write(context.WithoutCancel(ctx), k, name, rng); err != nil {
			l.t.Errorf("write %s %s: %v", k.name, name, err)
			return
		}
	}
}

// write makes one change, or two for a recreation.
func (l *load) write(ctx context.Context, k kind, name string, rng *rand.Rand) error {
	w, key := l.writers[k.name], k.namespace+"/"+name
	known, exists := w.Known(key)
	dice := rng.IntN(10)
	var err error
	switch {
	case !exists:
		_, err = w.Create(ctx, key, []byte(k.body(name, rng)))
	case dice < 2:
		err = w.Delete(ctx, key)
	case dice < 4:
		if err = w.Delete(ctx, key); err == nil {
			l.count.Add(1)
			_, err = w.Create(ctx, key, []byte(k.body(name, rng)))
		}
	default:
		var body []byte
		if body, err = touched(known.Body, rng); err == nil {
			_, err = w.Update(ctx, key, body)
		}
	}
	l.count.Add(1)
	return l.settle(ctx, w, key, err)
}

// settle finds out what became of a write that was not answered.
func (l *load) settle(ctx context.Context, w *guarantee.Writer, key string, err error) error {
	if turnedAway(err) {
		return nil // it did not happen
	}
	deadline := time.Now().Add(patience)
	for errors.Is(err, guarantee.ErrUnknownOutcome) && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
		err = w.Resolve(ctx, key)
	}
	return err
}

// turnedAway tells whether an API server refused a write for the moment: it is busy, or has just been started.
func turnedAway(err error) bool {
	var status *guarantee.StatusError
	return errors.As(err, &status) && (status.Code == http.StatusTooManyRequests ||
		status.Code == http.StatusForbidden && strings.Contains(status.Body, "not yet ready to handle request"))
}

// seed is that of the run: fixed, unless TOMBOLO_E2E_SEED says otherwise.
func seed(t testing.TB) uint64 {
	t.Helper()
	value := os.Getenv("TOMBOLO_E2E_SEED")
	if value == "" {
		return 1
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		t.Fatalf("TOMBOLO_E2E_SEED: %v", err)
	}
	return n
}
