//go:build e2e

package e2e

import (
	"time"

	"github.com/tombolo-sync/tombolo/internal/e2e/link"
)

// chaosAction is something that happens to the system. What it breaks may stay broken until another action mends it.
type chaosAction struct {
	name   string
	weight int
	do     func(c *chaos)
}

var chaosActions = []chaosAction{
	{"kill or start a hub", 5, (*chaos).killHub},
	{"drain a hub", 3, (*chaos).drainHub},
	{"kill an edge", 6, (*chaos).killEdge},
	{"fill an edge's disk", 2, (*chaos).fillDisk},
	{"break links", 8, (*chaos).breakLinks},
	{"mend links", 4, (*chaos).mendLinks},
	{"cut a hub from the cloud", 3, (*chaos).cutHub},
	{"mend hubs", 3, (*chaos).mendHubs},
	{"storm", 2, (*chaos).storm},
	{"restart the API server", 1, (*chaos).restartAPIServer},
	{"compact etcd", 1, (*chaos).compact},
}

// unleash does one thing after the other for so long. Each that can happen happens before one is drawn again: the first
// round is all of them in some order.
func (c *chaos) unleash(duration time.Duration) {
	c.t.Helper()
	end := time.Now().Add(duration)
	first := c.rng.Perm(len(chaosActions))
	n := 0
	for ; n < len(first) || time.Now().Before(end); n++ {
		a := c.draw()
		if n < len(first) {
			a = chaosActions[first[n]]
		}
		a.do(c)
		time.Sleep(time.Duration(c.rng.Int64N(int64(1200 * time.Millisecond))))
		for _, s := range c.everyServer() {
			s.alive()
		}
	}
	c.t.Logf("%d actions", n)
}

// draw picks an action by weight.
func (c *chaos) draw() chaosAction {
	sum := 0
	for _, a := range chaosActions {
		sum += a.weight
	}
	dice := c.rng.IntN(sum)
	for _, a := range chaosActions {
		if dice -= a.weight; dice < 0 {
			return a
		}
	}
	panic("weights don't add up")
}

// pause is a time in which a thing may stay as it is.
func (c *chaos) pause() time.Duration { return time.Duration(c.rng.Int64N(int64(2 * time.Second))) }

func (c *chaos) anyHub() *chaosHub   { return c.hubs[c.rng.IntN(len(c.hubs))] }
func (c *chaos) anyEdge() *chaosEdge { return c.edges[c.rng.IntN(len(c.edges))] }

func (c *chaos) killHub() {
	h := c.anyHub()
	if h.p == nil {
		c.trail.add("start %s", h.name)
		h.launch()
		return
	}
	c.trail.add("kill %s", h.name)
	h.kill()
	if c.rng.IntN(2) == 0 {
		c.trail.add("start %s", h.name)
		h.launch()
	}
}

func (c *chaos) drainHub() {
	h := c.anyHub()
	if h.p != nil {
		c.trail.add("stop %s in order", h.name)
		h.stop()
	}
	c.trail.add("start %s", h.name)
	h.launch()
}

func (c *chaos) killEdge() {
	e, downtime := c.anyEdge(), c.pause()
	c.trail.add("kill %s for %s", e.name, downtime)
	e.crash(c, downtime)
}

// fillDisk has an edge that can't write, and every other time crashes it so.
func (c *chaos) fillDisk() {
	e, pause, crash := c.anyEdge(), c.pause(), c.rng.IntN(2) == 0
	c.trail.add("fill the disk of %s for %s, then kill it: %t", e.name, pause, crash)
	e.fillDisk(true)
	time.Sleep(pause)
	if crash {
		e.crash(c, 0)
	} else {
		e.fillDisk(false)
	}
}

// breakLinks does the same to the links of some edges.
func (c *chaos) breakLinks() {
	ways := []struct {
		name string
		do   func(*link.Link)
	}{
		{"cut", (*link.Link).Cut},
		{"black-hole", (*link.Link).BlackHole},
		{"reset", (*link.Link).Reset},
		{"delay", func(l *link.Link) { l.Delay(100 * time.Millisecond) }},
	}
	way := ways[c.rng.IntN(len(ways))]
	for range 1 + c.rng.IntN(max(2, len(c.edges)/2)) {
		e := c.anyEdge()
		c.trail.add("%s %s", way.name, e.name)
		e.uplinks.each(way.do)
	}
}

func (c *chaos) mendLinks() {
	for _, e := range c.edges {
		if c.rng.IntN(3) > 0 {
			e.uplinks.heal()
		}
	}
	c.trail.add("mend the links of two thirds of the edges")
}

func (c *chaos) cutHub() {
	h := c.anyHub()
	if c.rng.IntN(2) == 0 {
		c.trail.add("cut %s from the cloud", h.name)
		h.toCloud.each((*link.Link).Cut)
	} else {
		c.trail.add("black-hole %s from the cloud", h.name)
		h.toCloud.each((*link.Link).BlackHole)
	}
}

func (c *chaos) mendHubs() {
	c.trail.add("start all hubs, mend their ways to the cloud")
	for _, h := range c.hubs {
		h.toCloud.heal()
		if h.p == nil {
			h.launch()
		}
	}
}

func (c *chaos) storm() {
	pause := c.pause()
	c.trail.add("cut all edges, heal them %s later", pause)
	for _, e := range c.edges {
		e.uplinks.each((*link.Link).Cut)
	}
	time.Sleep(pause)
	for _, e := range c.edges {
		e.uplinks.heal()
	}
}

func (c *chaos) restartAPIServer() {
	end, name := c.cluster.StopAPIServer, "stop"
	if c.rng.IntN(2) == 0 {
		end, name = c.cluster.KillAPIServer, "kill"
	}
	pause := c.pause()
	c.trail.add("%s the API server, start it %s later", name, pause)
	c.must(end())
	time.Sleep(pause)
	c.must(c.cluster.StartAPIServer(c.t.Context()))
	c.trail.add("the API server is back")
}

// compact takes the history of the cloud, from etcd and, by a restart, from the API server's memory.
func (c *chaos) compact() {
	rev := c.revision()
	c.trail.add("compact etcd up to %d, restart the API server", rev)
	c.must(c.cluster.Compact(c.t.Context(), int64(rev)))
	c.must(c.cluster.RestartAPIServer(c.t.Context()))
	c.trail.add("the API server is back")
}

func (c *chaos) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// healAll ends all faults and waits until everybody is in touch again.
func (c *chaos) healAll() {
	c.t.Helper()
	c.mendHubs()
	c.trail.add("mend all links")
	for _, e := range c.edges {
		e.uplinks.heal()
	}
	for _, h := range c.hubs {
		h.awaitReady()
	}
	for _, e := range c.edges {
		e.awaitContact(true)
	}
	c.trail.add("all is healed")
}
