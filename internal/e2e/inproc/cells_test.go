package inproc

import (
	"fmt"
	"testing"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
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

// TestColumnsThatComeAndGoAgain: the link breaks when an edge has learned of other columns and has no object with them. A hub
// that has the old ones again must not resume what it holds: the edge would show them under the wrong columns.
func TestColumnsThatComeAndGoAgain(t *testing.T) {
	c := newFakeCloud(t)
	c.put("a", "u", "mine")
	start := func(printed string) string {
		c.printed = printed
		src := c.source()
		src.load()
		hub, _ := startHub(t, src, newScopes(t, myPods), "127.0.0.1:0")
		return hub
	}
	before := start("old")
	r, addr := startRelay(t, before, asItIs)
	r.last = func(m *tombolov1.SyncResponse) bool {
		return string(m.GetSubscription().GetInfo().GetColumns()) == `[{"name":"new"}]`
	}
	e := startEdge(t, t.TempDir(), addr)
	e.following()
	r.lead(start("new"))
	r.cut()
	r.mend()
	e.eventually("the edge knows of other columns", func() bool { return e.pods().Resource().Columns == `[{"name":"new"}]` })
	r.lead(before)
	e.eventually("columns and cells are the old ones", func() bool {
		l := e.pods()
		return l.Resource().Columns == `[{"name":"old"}]` && string(l.Snapshot().Get("ns/a").Cells()) == `["old"]`
	})
	e.following()
}
