// Package round lets any number of callers share the answers to a question whose answer grows old: at most one round of
// a question is under way and at most one waits behind it. A caller that comes while one is under way takes part in the
// next, because the answer to the first may be from before it came.
package round

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrBusy is returned when too many different questions are under way.
var ErrBusy = errors.New("too many different questions at once")

// Work answers a question. want returns the largest of what those who take part have asked for by now.
type Work[K comparable, V any] func(ctx context.Context, key K, want func() uint64) (V, error)

// Table holds the rounds of all questions of one kind. It is safe for concurrent use.
type Table[K comparable, V any] struct {
	ctx   context.Context // of all rounds: they end with whoever owns the table
	limit time.Duration   // of one round
	max   int             // of questions
	work  Work[K, V]
	wg    sync.WaitGroup

	mu   sync.Mutex    // guards all below, and the turns' fields that say so
	rows map[K]*row[V] // no row without a turn under way
}

// row is what is known of one question.
type row[V any] struct {
	now  *turn[V] // under way
	next *turn[V] // nil when nobody waits for it
}

// turn is one round.
type turn[V any] struct {
	done   chan struct{} // closed when value and err are set
	value  V
	err    error
	cancel context.CancelFunc // nil until it is under way; guarded by Table.mu
	parts  int                // how many wait for it; guarded by Table.mu
	want   uint64             // guarded by Table.mu
}

// NewTable returns a table whose rounds end with ctx, last at most limit each, and are of at most max questions at once.
// After ctx has ended, Wait waits for them.
func NewTable[K comparable, V any](ctx context.Context, limit time.Duration, maxKeys int, work Work[K, V]) *Table[K, V] {
	return &Table[K, V]{ctx: ctx, limit: limit, max: maxKeys, work: work, rows: map[K]*row[V]{}}
}

// Wait waits for the rounds that are under way. Who asks from then on is refused.
func (t *Table[K, V]) Wait() {
	t.mu.Lock()   // who is just entering has not seen that ctx has ended
	t.mu.Unlock() //nolint:staticcheck // see above
	t.wg.Wait()
}

// Ask returns the answer of a round that begins now or later. It fails with ErrBusy, with the context's error when that
// ends first, or as the work did.
func (t *Table[K, V]) Ask(ctx context.Context, key K, want uint64) (V, error) {
	return t.take(ctx, key, want, false)
}

// Join is Ask for questions whose answers don't grow old: the round that is under way will do, unless everybody else has
// given it up.
func (t *Table[K, V]) Join(ctx context.Context, key K, want uint64) (V, error) {
	return t.take(ctx, key, want, true)
}

func (t *Table[K, V]) take(ctx context.Context, key K, want uint64, running bool) (V, error) {
	u, err := t.enter(key, want, running)
	if err != nil {
		var none V
		return none, err
	}
	defer t.leave(u)
	select {
	case <-u.done:
		return u.value, u.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

// enter returns the round that a caller takes part in.
func (t *Table[K, V]) enter(key K, want uint64, running bool) (*turn[V], error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[key]
	var u *turn[V]
	switch {
	case t.ctx.Err() != nil:
		return nil, context.Cause(t.ctx)
	case r == nil && len(t.rows) >= t.max:
		return nil, ErrBusy
	case r == nil:
		u = &turn[V]{done: make(chan struct{})}
		r = &row[V]{now: u}
		t.rows[key] = r
		t.wg.Add(1)
		go t.run(key, r)
	case running && !r.now.abandoned():
		u = r.now
	default:
		if r.next == nil {
			r.next = &turn[V]{done: make(chan struct{})}
		}
		u = r.next
	}
	u.parts++
	u.want = max(u.want, want)
	return u, nil
}

// abandoned tells whether a round is ending because nobody waits for it. The caller holds Table.mu.
func (u *turn[V]) abandoned() bool { return u.parts == 0 && u.cancel != nil }

// leave ends a round that nobody waits for any more.
func (t *Table[K, V]) leave(u *turn[V]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u.parts--
	if u.abandoned() {
		u.cancel()
	}
}

// run does the rounds of one question until nobody waits for another.
func (t *Table[K, V]) run(key K, r *row[V]) {
	defer t.wg.Done()
	for u := r.now; u != nil; u = t.advance(key, r) {
		t.do(key, u)
	}
}

func (t *Table[K, V]) do(key K, u *turn[V]) {
	ctx, cancel := context.WithTimeout(t.ctx, t.limit)
	defer cancel()
	t.mu.Lock()
	u.cancel = cancel
	t.mu.Unlock()
	u.value, u.err = t.work(ctx, key, func() uint64 {
		t.mu.Lock()
		defer t.mu.Unlock()
		return u.want
	})
	close(u.done)
}

// advance returns the next round of a question, nil when nobody waits for it.
func (t *Table[K, V]) advance(key K, r *row[V]) *turn[V] {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.now, r.next = r.next, nil
	if r.now == nil || r.now.parts == 0 {
		delete(t.rows, key)
		return nil
	}
	return r.now
}
