//go:build e2e

package e2e

import (
	"path/filepath"
	"time"

	"github.com/tombolo-sync/tombolo/internal/e2e/clock"
)

// chaosJumps are how far clocks are ahead: some by what a wrong time zone makes, some by more than a certificate lasts.
var chaosJumps = []time.Duration{time.Hour, -time.Hour, 400 * 24 * time.Hour, -400 * 24 * time.Hour}

// buildJumping builds hub and edge with clocks that jump.
func buildJumping(c *chaos) string {
	c.t.Helper()
	dir := c.t.TempDir()
	c.must(clock.Build(dir, "../../cmd/cloudhub", "../../cmd/edgehub"))
	return dir
}

// jumping makes a server go by a clock of its own. It must not run yet.
func (c *chaos) jumping(s *server) *clock.Clock {
	c.t.Helper()
	own, err := clock.New(filepath.Join(c.t.TempDir(), s.name))
	c.must(err)
	c.t.Cleanup(func() { _ = own.Close() })
	s.binary = filepath.Join(c.jumpers, filepath.Base(s.binary))
	s.env = append(s.env, own.Environment())
	return own
}

// nextJump goes through all jumps, again and again, and through none in between.
func (c *chaos) nextJump() time.Duration {
	all := append([]time.Duration{0}, chaosJumps...)
	c.jumps++
	return all[c.jumps%len(all)]
}

func (c *chaos) jumpHub() {
	h, ahead := c.anyHub(), c.nextJump()
	c.trail.add("the clock of %s jumps to %s ahead", h.name, ahead)
	c.must(h.clock.Set(ahead))
}

func (c *chaos) jumpEdges() {
	for range max(len(chaosJumps), len(c.edges)/5) {
		e, ahead := c.anyEdge(), c.nextJump()
		c.trail.add("the clock of %s jumps to %s ahead", e.name, ahead)
		c.must(e.clock.Set(ahead))
	}
}
