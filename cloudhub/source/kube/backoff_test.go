package kube

import (
	"testing"
	"time"
)

// TestReflectorsAreBackSoonAfterALongOutage: edges are not to lag for another minute behind an API server that was away for long.
func TestReflectorsAreBackSoonAfterALongOutage(t *testing.T) {
	backoff, longest := reflectorBackoff, time.Duration(0)
	for range 100 {
		longest = max(longest, backoff.Step())
	}
	if longest > 10*time.Second || longest < time.Second {
		t.Errorf("a pause of %s", longest)
	}
}
