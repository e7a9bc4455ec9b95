//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tombolo-sync/tombolo/internal/e2e/link"
	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// chaosResources are those that change.
var chaosResources = []resource{configMaps, pods, widgets, deployments}

// kinds are what is written in the cloud directly.
func (c *chaos) kinds() []kind {
	return []kind{
		{configMaps, chaosNamespace, func(name string, rng *rand.Rand) string {
			return configMap(chaosNamespace, name, []string{"a", "b"}[rng.IntN(2)], fmt.Sprint(rng.Uint64()))
		}},
		{pods, chaosNamespace, func(name string, rng *rand.Rand) string {
			nodes := []int{len(c.edges), readersAt} // half of them where somebody reads
			return pod(chaosNamespace, name, fmt.Sprintf("node-%d", rng.IntN(nodes[rng.IntN(2)])), "load")
		}},
		{widgets, chaosNamespace, func(name string, rng *rand.Rand) string {
			return widget(chaosNamespace, name, []string{"red", "blue"}[rng.IntN(2)])
		}},
		{deployments, chaosNamespace, func(name string, _ *rand.Rand) string { return deployment(chaosNamespace, name) }},
	}
}

// holds is what an edge holds of a resource, and where the cloud lists the same.
func (e *chaosEdge) holds(r resource) (guarantee.Match, string) {
	if r == pods {
		node := "node-" + e.name[len("edge-"):]
		return guarantee.HasField("spec.nodeName", node), r.path("") + "?fieldSelector=spec.nodeName%3D" + node
	}
	return nil, r.path("")
}

// readersAt is at how many edges clients read.
const readersAt = 3

// read starts clients of the cloud and of some edges, and client-go's informers at another one.
func (c *chaos) read() {
	c.t.Helper()
	c.sources(chaosResources...)
	for _, e := range c.edges[:readersAt] {
		for _, r := range chaosResources {
			for _, watchList := range []bool{false, true} {
				// A client that came before the edge held the resource has a position that the edge never had.
				cfg := guarantee.ReaderConfig{Coalesced: true, NeverExpires: r != deployments}
				c.readAt(e, r, cfg, func(w *guarantee.Watcher) { w.WatchList = watchList })
			}
		}
	}
	c.informers = startInformers(c.t, c.edges[readersAt].url, "application/json")
	for _, w := range c.readers {
		eventually(c.t, func() error { // what is held on demand is held from now on
			if w.Position() == 0 {
				return fmt.Errorf("%s has no state", w.Name())
			}
			return nil
		})
	}
}

func (c *chaos) readAt(e *chaosEdge, r resource, cfg guarantee.ReaderConfig, setup func(*guarantee.Watcher)) {
	if cfg.Match, _ = e.holds(r); cfg.Match == nil {
		cfg.Match = guarantee.InNamespace(chaosNamespace)
	}
	if cfg.Name == "" {
		cfg.Name = fmt.Sprintf("%s %s %d", e.name, r.name, len(c.readers))
	}
	c.watch(e.api, r, cfg, setup)
}

// throughEdges are clients of edges that write what only the cloud can take.
type throughEdges struct {
	turn          uint64
	stopped       context.CancelFunc
	workers       sync.WaitGroup
	done, unknown atomic.Int64 // writes that were answered well, and those of which nobody can tell
}

// throughTimeout is how long a client waits for an answer to a write.
const throughTimeout = 10 * time.Second

// writeThroughEdges has a client write at each of some edges. The end of the test stops it.
func (c *chaos) writeThroughEdges() *throughEdges {
	l := &throughEdges{}
	l.goOn(c)
	c.t.Cleanup(l.stop)
	return l
}

// goOn starts the clients, again when they were stopped: with objects of their own each time.
func (l *throughEdges) goOn(c *chaos) {
	var ctx context.Context
	ctx, l.stopped = context.WithCancel(c.t.Context())
	l.turn++
	for i, e := range c.edges[1:4] {
		w := guarantee.NewWriter(c.history, e.name, configMaps.name, e.api.client, e.api.base+configMaps.prefix, configMaps.plural, nil)
		rng := rand.New(rand.NewPCG(c.trail.seed, 100*l.turn+uint64(i)))
		name := fmt.Sprintf("%s-%d", e.name, l.turn)
		l.workers.Go(func() { l.work(ctx, name, w, rng) })
	}
}

func (l *throughEdges) stop() {
	l.stopped()
	l.workers.Wait()
}

// work writes objects of one name until it doesn't know what became of a write: what was sent may happen at any later
// time, when a link heals. That object is left alone then, and the sources tell what it is.
func (l *throughEdges) work(ctx context.Context, name string, w *guarantee.Writer, rng *rand.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		key := fmt.Sprintf("%s/through-%s-%d", chaosNamespace, name, n)
		for ctx.Err() == nil && l.write(context.WithoutCancel(ctx), w, key, rng) == nil {
			l.done.Add(1)
			sleep(ctx, 100*time.Millisecond)
		}
		if ctx.Err() == nil {
			l.unknown.Add(1)
			sleep(ctx, 500*time.Millisecond)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (l *throughEdges) write(ctx context.Context, w *guarantee.Writer, key string, rng *rand.Rand) error {
	ctx, cancel := context.WithTimeout(ctx, throughTimeout)
	defer cancel()
	known, exists := w.Known(key)
	if !exists {
		_, err := w.Create(ctx, key, []byte(configMap(chaosNamespace, key[len(chaosNamespace)+1:], "a", fmt.Sprint(rng.Uint64()))))
		return err
	}
	if rng.IntN(4) == 0 {
		return w.Delete(ctx, key)
	}
	body, err := touched(known.Body, rng)
	if err == nil {
		_, err = w.Update(ctx, key, body)
	}
	return err
}

// tour leads an edge to each hub: once it is in touch, that hub follows the cloud, and its log has no gap from there on.
func (c *chaos) tour() {
	c.t.Helper()
	e := c.edges[0]
	for i, h := range c.hubs {
		e.uplinks.each((*link.Link).Cut)
		e.awaitContact(false)
		c.trail.add("%s is left with %s", e.name, h.name)
		e.uplinks[i].Heal()
		e.awaitContact(true)
	}
	e.uplinks.heal()
}

// steady has strict readers at edges that lose their links and a hub, but nothing of what the hubs have in memory: every
// single version has to arrive.
func (c *chaos) steady(l *load) {
	c.t.Helper()
	c.tour()
	first := len(c.readers)
	for _, e := range c.edges[:2] {
		for i, r := range []resource{configMaps, pods, configMaps, pods} {
			cfg := guarantee.ReaderConfig{NeverExpires: true, Name: fmt.Sprintf("strict %s %s %d", e.name, r.name, i)}
			c.readAt(e, r, cfg, func(w *guarantee.Watcher) { w.WatchList = i > 1 })
		}
	}
	for _, w := range c.readers[first:] {
		await(c.t, w.CatchUp)
	}
	more := startLoad(c.t, c.history, c.cloud, c.trail.seed+1, 60, c.kinds()...)
	for i := range 3 {
		more.awaitCount(60)
		c.trail.add("reset all links")
		for _, e := range c.edges {
			e.uplinks.each((*link.Link).Reset)
		}
		more.awaitCount(60)
		if i == 1 {
			c.trail.add("stop hub-0 in order, for good")
			c.hubs[0].stop()
		}
	}
	more.stop()
	l.count.Add(more.count.Load())
	c.catchUp()
}
