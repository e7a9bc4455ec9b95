//go:build e2e

package syncbench

import (
	"fmt"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/fleet"
)

// TestUpdatesStarveNoHeartbeat: 2,000 updates that 200 edges are sent, as fast as the cloud takes them, cost no edge its
// session, and all come to what the hub holds.
func TestUpdatesStarveNoHeartbeat(t *testing.T) {
	measured(t)
	const edges, updates, objects = 200, 2000, 50
	h := startHub(t, someConfigMaps)
	fill(t, h, objects, configMap)
	c := newFleet(t, h, fleet.Config{Edges: edges})
	c.connect()
	before := c.Stats()
	h.cloud.each(updates, func(i int) {
		h.cloud.patch(t, configMaps+"/"+name(i%objects), object{"data": object{"n": fmt.Sprint(i)}})
	})
	h.cloud.create(t, configMaps, configMap("the-end", 10, 1))
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		now := c.Stats()
		if now.Updates-before.Updates >= edges*(updates+1) {
			break
		}
		if now.Ended > before.Ended || time.Now().After(deadline) {
			t.Fatalf("%d of %d updates came, sessions ended: %v", now.Updates-before.Updates, edges*(updates+1), now.Failures)
		}
	}
	time.Sleep(time.Second) // for a hub that would give up somebody who has not said anything
	now := c.Stats()
	if now.Ended != before.Ended || now.Connected != edges || now.Live != edges || now.Mismatches != 0 {
		t.Errorf("%d sessions ended (%v), %d edges are connected, %d caught up, %d mismatches",
			now.Ended-before.Ended, now.Failures, now.Connected, now.Live, now.Mismatches)
	}
}
