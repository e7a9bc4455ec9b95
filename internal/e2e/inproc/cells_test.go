package inproc

import (
	"fmt"
	"testing"
)

// TestOtherColumnsReachAnEdgeThatHasAllObjects upgrades the hub, and then the cloud, with no object being written: first
// there are no tables, then some, then others.
func TestOtherColumnsReachAnEdgeThatHasAllObjects(t *testing.T) {
	c := newFakeCloud(t)
	for i := range 50 {
		c.put(fmt.Sprint("p", i), fmt.Sprint("u", i), "mine")
	}
	dir, addr := t.TempDir(), "127.0.0.1:0"
	for _, printed := range []string{"", "old", "new", "new", ""} {
		t.Run("printed "+printed, func(t *testing.T) {
			c.printed = printed
			src := c.source()
			src.load()
			hub, stop := startHub(t, src, newScopes(t, myPods), addr)
			e := startEdge(t, dir, hub)
			want, columns := "", ""
			if printed != "" {
				want, columns = fmt.Sprintf("[%q]", printed), fmt.Sprintf(`[{"name":%q}]`, printed)
			}
			e.eventually("all have these cells", func() bool {
				l := e.pods()
				if l.Snapshot().Len() != 50 || l.Resource().Columns != columns {
					return false
				}
				for o := range l.Snapshot().All("") {
					if string(o.Cells()) != want {
						return false
					}
				}
				return true
			})
			e.holds(c, "mine")
			e.stop()
			stop()
		})
	}
}
