//go:build e2e

package e2e

import (
	"bytes"
	"os"
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
	{"kill a hub", 4, (*chaos).killHub},
	{"drain a hub", 3, (*chaos).drainHub},
	{"kill an edge", 6, (*chaos).killEdge},
	{"fill an edge's disk", 2, (*chaos).fillDisk},
	{"cut links", 2, func(c *chaos) { c.breakLinks("cut", (*link.Link).Cut) }},
	{"black-hole links", 2, func(c *chaos) { c.breakLinks("black-hole", (*link.Link).BlackHole) }},
	{"reset links", 2, func(c *chaos) { c.breakLinks("reset", (*link.Link).Reset) }},
	{"delay links", 2, func(c *chaos) { c.breakLinks("delay", slow) }},
	{"mend links", 4, (*chaos).mendLinks},
	{"cut a hub from the cloud", 2, func(c *chaos) { c.breakHub("cut", (*link.Link).Cut) }},
	{"black-hole a hub from the cloud", 2, func(c *chaos) { c.breakHub("black-hole", (*link.Link).BlackHole) }},
	{"delay a hub's way to the cloud", 1, func(c *chaos) { c.breakHub("delay", slow) }},
	{"mend hubs", 3, (*chaos).mendHubs},
	{"storm", 2, (*chaos).storm},
	{"deliver an old session after a new one", 2, (*chaos).late},
	{"a hub's clock jumps", 2, (*chaos).jumpHub},
	{"edges' clocks jump", 2, (*chaos).jumpEdges},
	{"restart the API server", 1, (*chaos).restartAPIServer},
	{"compact etcd", 1, (*chaos).compact},
	{"restore etcd", 1, (*chaos).restore},
}

// slow makes a link one of a tenth of a second each way.
func slow(l *link.Link) { l.Delay(100 * time.Millisecond) }

// unleash does one thing after the other for so long. Each that can happen happens before one is drawn again: the first
// round is all of them in some order.
func (c *chaos) unleash(duration time.Duration) {
	c.t.Helper()
	began, first := time.Now(), c.rng.Perm(len(chaosActions))
	n := 0
	for ; n < len(first) || time.Since(began) < duration; n++ {
		a := c.draw()
		if n < len(first) {
			a = chaosActions[first[n]]
		}
		a.do(c)
		time.Sleep(time.Duration(c.rng.Int64N(int64(1200 * time.Millisecond))))
		for _, s := range c.everyServer() {
			s.alive()
		}
		c.sample(duration)
	}
	c.t.Logf("%d actions in %s", n, time.Since(began).Round(time.Second))
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

// fillDisk has an edge that can't write until it says so, if something comes for it in time, and every other time crashes
// it so. What it could not write has to come again.
func (c *chaos) fillDisk() {
	e, crash := c.anyEdge(), c.rng.IntN(2) == 0
	c.trail.add("fill the disk of %s, then kill it: %t", e.name, crash)
	e.uplinks.heal()
	before := e.saysFullDisk()
	e.fillDisk(true)
	for end := time.Now().Add(fullFor); e.saysFullDisk() == before && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	if e.saysFullDisk() > before {
		c.full++
	}
	if crash {
		e.crash(c, 0)
	} else {
		e.fillDisk(false)
	}
}

// surelyFillDisk has it happen while something comes for the edge, if it never has.
func (c *chaos) surelyFillDisk() {
	c.t.Helper()
	for n := 0; c.full == 0; n++ {
		if n == 10 {
			c.t.Fatal("no edge ever said that its disk was full")
		}
		c.mendHubs()
		c.fillDisk()
	}
}

// fullFor is how long a disk stays full at most.
const fullFor = 5 * time.Second

// saysFullDisk returns how often the edge has said that it can't write.
func (e *chaosEdge) saysFullDisk() int {
	e.t.Helper()
	log, err := os.ReadFile(e.log)
	if err != nil {
		e.t.Fatal(err)
	}
	return bytes.Count(log, []byte("file too large")) // see proc.FillDisk
}

// breakLinks does the same to the links of some edges.
func (c *chaos) breakLinks(name string, do func(*link.Link)) {
	for range 1 + c.rng.IntN(max(2, len(c.edges)/2)) {
		e := c.anyEdge()
		c.trail.add("%s %s", name, e.name)
		e.uplinks.each(do)
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

func (c *chaos) breakHub(name string, do func(*link.Link)) {
	h := c.anyHub()
	c.trail.add("%s %s from the cloud", name, h.name)
	h.toCloud.each(do)
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

// storm cuts all edges off, and lets one after the other come back, in another order than they had, to a hub that is drawn.
// Whoever could not reach that one may go to all of them a moment later.
func (c *chaos) storm() {
	pause := c.pause()
	c.trail.add("cut all edges, let them come back in another order to other hubs %s later", pause)
	for _, e := range c.edges {
		e.uplinks.each((*link.Link).Cut)
	}
	time.Sleep(pause)
	for _, i := range c.rng.Perm(len(c.edges)) {
		c.edges[i].uplinks[c.rng.IntN(len(c.hubs))].Heal()
		time.Sleep(time.Duration(c.rng.Int64N(int64(20 * time.Millisecond))))
	}
	time.Sleep(c.pause())
	for _, e := range c.edges {
		e.uplinks.heal()
	}
}

// lateBy is behind the time that an edge waits for the answer to its hello.
const lateBy = 12 * time.Second

// late has edges whose new connections carry nothing for so long that they open others: what they said on the first
// arrives when they have long gone on, and their old connection says that it is gone only then.
func (c *chaos) late() {
	var some []*chaosEdge
	for range 1 + len(c.edges)/3 {
		e := c.anyEdge()
		c.trail.add("what %s says next arrives %s later", e.name, lateBy)
		e.uplinks.heal()
		e.uplinks.each(func(l *link.Link) {
			l.Late(lateBy)
			l.Reset()
		})
		some = append(some, e)
	}
	time.Sleep(c.pause())
	for _, e := range some {
		e.uplinks.each(func(l *link.Link) { l.Late(0) })
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
