package session

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestAnotherReasonForNoSessionIsSaidAtOnce: an edge that was revoked while its hub was away must not say for a minute that it is.
func TestAnotherReasonForNoSessionIsSaidAtOnce(t *testing.T) {
	away, revoked := status.Error(codes.Unavailable, "away"), status.Error(codes.PermissionDenied, "revoked")
	var c complaints
	at := time.Now()
	for i, step := range []struct {
		hub        string
		err        error
		progressed bool
		after      time.Duration
		want       bool
	}{
		{"a", away, false, 0, true}, {"a", away, false, time.Second, false},
		{"b", away, false, time.Second, false}, {"b", revoked, false, time.Second, true},
		{"a", away, false, time.Second, false}, {"b", revoked, false, time.Second, false},
		{"a", revoked, false, time.Second, true}, {"a", revoked, false, sayEvery, true},
		{"a", revoked, true, time.Second, true},
	} {
		at = at.Add(step.after)
		if got := c.due(step.hub, step.err, step.progressed, at); got != step.want {
			t.Errorf("step %d: said %v", i, got)
		}
	}
}
