//go:build e2e

package syncbench

import (
	"context"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/fleet"
)

// crowd is a fleet that runs.
type crowd struct {
	*fleet.Fleet
	t    testing.TB
	stop context.CancelFunc
	done chan error
}

// newFleet prepares edges of a hub, with mutual TLS.
func newFleet(t testing.TB, h *hub, cfg fleet.Config) *crowd {
	t.Helper()
	needFiles(t, cfg.Edges)
	issuer, err := fleet.NewIssuer(h.ca.Cert, h.ca.Key)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Hubs, cfg.TLS = []string{h.sync}, issuer.TLS
	f, err := fleet.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := &crowd{Fleet: f, t: t}
	t.Cleanup(func() {
		c.disconnect()
		if n := f.Stats().Mismatches; n != 0 {
			t.Errorf("%d checkpoints were not agreed with", n)
		}
	})
	return c
}

// connect connects the edges, which keep what they hold, and waits until they have caught up.
func (c *crowd) connect() {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c.stop, c.done = cancel, make(chan error, 1)
	go func() { c.done <- c.Run(ctx) }()
	c.awaitLive()
}

// disconnect ends the sessions.
func (c *crowd) disconnect() {
	c.t.Helper()
	if c.stop == nil {
		return
	}
	c.stop()
	c.stop = nil
	if err := <-c.done; err != nil {
		c.t.Error(err)
	}
}

// awaitLive waits until all edges have caught up.
func (c *crowd) awaitLive() {
	c.t.Helper()
	c.await("edges caught up", func(s fleet.Stats) (int64, int64) { return s.Live, int64(s.Edges) })
}

// await waits until a number has reached what it should.
func (c *crowd) await(what string, number func(fleet.Stats) (have, want int64)) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		have, want := number(c.Stats())
		if have >= want {
			return
		}
		select {
		case err := <-c.done:
			c.done <- err
			c.t.Fatalf("%d of %d %s when the fleet ended: %v", have, want, what, err)
		default:
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%d of %d %s: %+v", have, want, what, c.Stats())
		}
	}
}

// awaitUpdates waits until so many operations more have come live than before.
func (c *crowd) awaitUpdates(before fleet.Stats, n int64) {
	c.t.Helper()
	c.await("updates", func(s fleet.Stats) (int64, int64) { return s.Updates - before.Updates, n })
}
