package session

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
