//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// newTrail begins a trail, whose whole is in the file trail.log beside the servers' logs.
func newTrail(t *testing.T, seed uint64) *trail {
	t.Helper()
	all, err := os.Create(filepath.Join(artifacts(t), "trail.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = all.Close() })
	return &trail{seed: seed, all: all}
}

// trail is what was done to the system, for whoever has to find out why it failed.
type trail struct {
	seed uint64

	all  *os.File   // everything, from the beginning
	mu   sync.Mutex // guards last
	last []string   // newest at the end, at most trailLength
}

const trailLength = 15

func (r *trail) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := time.Now().Format("15:04:05.000 ") + fmt.Sprintf(format, args...)
	_, _ = fmt.Fprintln(r.all, line)
	r.last = append(r.last, line)
	r.last = r.last[max(0, len(r.last)-trailLength):]
}

func (r *trail) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("TOMBOLO_E2E_SEED=%d; what was done last:\n  %s", r.seed, strings.Join(r.last, "\n  "))
}

// told is a test whose failures tell the trail.
type told struct {
	testing.TB
	trail *trail
}

func (t told) Error(args ...any) {
	t.Helper()
	t.TB.Errorf("%s\n%s", fmt.Sprint(args...), t.trail)
}

func (t told) Errorf(format string, args ...any) {
	t.Helper()
	t.TB.Errorf("%s\n%s", fmt.Sprintf(format, args...), t.trail)
}

func (t told) Fatal(args ...any) {
	t.Helper()
	t.TB.Fatalf("%s\n%s", fmt.Sprint(args...), t.trail)
}

func (t told) Fatalf(format string, args ...any) {
	t.Helper()
	t.TB.Fatalf("%s\n%s", fmt.Sprintf(format, args...), t.trail)
}
