//go:build e2e

package e2e

import "testing"

// TestFullDisk has an edge that can't write for a while, and is killed so once. It goes on serving what it has, says that it
// is behind, and follows again as soon as it can.
func TestFullDisk(t *testing.T) {
	s := newSite(t, hubConfig{})
	s.watchEverything(true)
	l := startLoad(t, s.history, s.cloud, seed(t), 200, loadKinds...)
	l.awaitCount(100)
	for round := range 4 {
		s.edge.fillDisk(true)
		s.edge.awaitContact(false)
		s.local.list(t, configMaps.path("")+"?resourceVersion=0")
		l.awaitCount(50)
		if round == 2 {
			s.restartEdge()
		} else {
			s.edge.fillDisk(false)
		}
		s.edge.awaitContact(true)
		l.awaitCount(50)
	}
	l.stop()
	s.settle(configMaps, pods)
	s.edge.alive()
	s.edge.kill()
	s.edge.check()
}
