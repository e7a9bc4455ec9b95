package session

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff spaces out attempts with full jitter: each wait is random between nothing and a bound that doubles, so that
// edges which lost their hub at the same moment don't come back at the same moment.
type backoff struct {
	minimum, maximum time.Duration
	bound            time.Duration // of the next wait; 0 at the start
}

// next returns how long to wait now.
func (b *backoff) next() time.Duration {
	b.bound = min(max(2*b.bound, b.minimum), b.maximum)
	return rand.N(b.bound) //nolint:gosec // spreads load, keeps no secret
}

func (b *backoff) reset() { b.bound = 0 }

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
