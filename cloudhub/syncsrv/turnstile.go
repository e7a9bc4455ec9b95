package syncsrv

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

const (
	// latestPlace bounds how far ahead the turnstile gives places.
	latestPlace = time.Minute
	// fullDelay is when an edge is to ask again that came to a full hub; up to twice that, so that they don't come together.
	fullDelay = 15 * time.Second
)

// turnstile admits sessions at a bounded rate. A session that comes too early is refused before anything is read of it,
// and told when to come again: each one gets a place of its own, so that a storm comes back as a steady stream.
type turnstile struct {
	every time.Duration // one session
	burst time.Duration // how much of the past counts, as sessions that nobody has opened

	mu    sync.Mutex // guards all below
	next  time.Time  // when the next session may come, at the steady rate
	place time.Time  // the last place that was given to one that was refused
}

// newTurnstile returns one for a rate per second, with bursts of two seconds.
func newTurnstile(rate float64) *turnstile {
	return &turnstile{every: time.Duration(float64(time.Second) / rate), burst: 2 * time.Second}
}

// enter returns 0 for a session that may come in, and else how long it is to stay away.
func (t *turnstile) enter(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if floor := now.Add(-t.burst); t.next.Before(floor) {
		t.next = floor
	}
	if !t.next.After(now) {
		t.next = t.next.Add(t.every)
		return 0
	}
	if t.place.Before(now) {
		t.place = now
	}
	if latest := now.Add(latestPlace); t.place.Before(latest) {
		t.place = t.place.Add(t.every)
	}
	return t.place.Sub(now)
}

// Limit refuses a session that comes too early, as the interceptor of go-grpc-middleware asks for. Other calls have
// limits of their own.
func (t *turnstile) Limit(ctx context.Context) error {
	method, _ := grpc.Method(ctx)
	if method != tombolov1.SyncService_Sync_FullMethodName {
		return nil
	}
	if wait := t.enter(time.Now()); wait > 0 {
		return comeAgain("too many sessions are being opened", wait)
	}
	return nil
}

// full is what an edge is told that comes to a hub with all the sessions it can have.
func full() error {
	return comeAgain("all sessions of this hub are in use", fullDelay+rand.N(fullDelay)) //nolint:gosec // spreads load, keeps no secret
}

// comeAgain is RESOURCE_EXHAUSTED with a google.rpc.RetryInfo.
func comeAgain(why string, wait time.Duration) error {
	s := status.New(codes.ResourceExhausted, why)
	if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)}); err == nil {
		s = detailed
	}
	return s.Err()
}
