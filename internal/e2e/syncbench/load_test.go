//go:build e2e

package syncbench

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/fleet"
)

// serving is what an edge at a site with a proxy holds: few services and their endpoints.
const serving = "  - group: discovery.k8s.io\n    resource: endpointslices\n    namespaces: [default]\n"

// burst is what came of changes to one EndpointSlice, made one after the other.
type burst struct {
	latency  fleet.Quantiles[time.Duration]
	bytes    float64 // that one change took to all edges, both ways
	hub, own time.Duration
}

// change changes a slice n times, and waits each time until the edges that read have it.
func change(h *hub, c *crowd, n int, reading int64) burst {
	c.t.Helper()
	c.Reset()
	before, hub, own := c.Stats(), h.cpu(c.t), cpu(c.t, os.Getpid())
	for i := range n {
		at := c.Stats()
		patch := marker()
		patch["endpoints"] = addresses(100, i+int(before.Updates))
		h.cloud.patch(c.t, slices+"/app", patch)
		c.awaitUpdates(at, reading)
		time.Sleep(20 * time.Millisecond) // for the last acks
	}
	now := c.Stats()
	if got, want := now.Updates-before.Updates, int64(n)*reading; got != want {
		c.t.Errorf("%d updates came, %d were due", got, want)
	}
	return burst{
		latency: now.Latency, bytes: float64(now.WireIn+now.WireOut-before.WireIn-before.WireOut) / float64(n),
		hub: (h.cpu(c.t) - hub) / time.Duration(n), own: (cpu(c.t, os.Getpid()) - own) / time.Duration(n),
	}
}

// TestCrowd measures the memory of sessions, a change that all edges are sent, and a storm of reconnects.
func TestCrowd(t *testing.T) {
	s := measured(t)
	h := startHub(t, serving)
	h.cloud.create(t, slices, slice("app"))
	warm := newFleet(t, h, fleet.Config{Edges: 1, Names: "edge-warm-%d"})
	warm.connect()
	change(h, warm, s.changes, 1)
	warm.disconnect()
	empty := h.resident(t)

	c := newFleet(t, h, fleet.Config{Edges: s.edges, ConnectRate: 400})
	c.connect()
	time.Sleep(3 * time.Second)
	perEdge := (h.resident(t) - empty) / float64(s.edges)
	figures.add(fmt.Sprintf("hub memory of an edge, %d edges", s.edges), "difference of the resident set with all edges and with none, mutual TLS",
		bytesText(perEdge), "64 KiB", perEdge <= 64<<10)

	b := change(h, c, s.changes, int64(s.edges))
	figures.add(fmt.Sprintf("one endpoint change to %d edges, bytes", s.edges), "TCP payload both ways, acks included, slice of 100 endpoints",
		bytesText(b.bytes), bytesText(150*float64(s.edges)), b.bytes <= 150*float64(s.edges))
	figures.add("the same, latency", "from the write's request to each edge, p50 and p99; hub and fleet share the processors",
		fmt.Sprintf("%s, %s", b.latency.P50.Round(time.Millisecond), b.latency.P99.Round(time.Millisecond)), "p99 100 ms", b.latency.P99 <= 100*time.Millisecond)
	figures.tell("the same, processor time", "of the hub, and of the fleet", fmt.Sprintf("%s, %s", b.hub.Round(time.Millisecond), b.own.Round(time.Millisecond)))

	before, hub, start := c.Stats(), h.cpu(t), time.Now()
	c.Cut()
	c.await("sessions opened again", func(s fleet.Stats) (int64, int64) { return s.Sessions - before.Sessions, int64(s.Edges) })
	c.awaitLive()
	took, used, now := time.Since(start), h.cpu(t)-hub, c.Stats()
	if now.Operations != before.Operations || now.Inventories != before.Inventories {
		t.Errorf("reconnects brought %d operations and took %d inventories", now.Operations-before.Operations, now.Inventories-before.Inventories)
	}
	figures.add(fmt.Sprintf("%d reconnects", s.edges), "all connections cut at once; until all edges have caught up; hub's processor time",
		fmt.Sprintf("%.1f s, %.1f CPU-s", took.Seconds(), used.Seconds()), "20 s, 10 CPU-s", took <= 20*time.Second && used <= 10*time.Second)
}

// TestStuckEdge measures what an edge that never reads costs the hub and the others.
func TestStuckEdge(t *testing.T) {
	s := measured(t)
	h := startHub(t, serving)
	h.cloud.create(t, slices, slice("app"))
	edges, stuck := min(s.edges, 1000), 50
	c := newFleet(t, h, fleet.Config{Edges: edges})
	c.connect()
	change(h, c, s.changes, int64(edges))
	alone := change(h, c, s.changes, int64(edges))
	before := h.resident(t)
	k := newFleet(t, h, fleet.Config{Edges: stuck, Stuck: stuck, Names: "edge-stuck-%d"})
	k.connect()
	k.await("edges stuck", func(s fleet.Stats) (int64, int64) { return s.Stuck, int64(stuck) })
	beside := change(h, c, s.changes, int64(edges))
	change(h, c, s.changes, int64(edges))
	grown := max(0, h.resident(t)-before) / float64(stuck)
	figures.add(fmt.Sprintf("a stuck edge, %d of %d", stuck, edges+stuck), fmt.Sprintf("growth of the hub's resident set, session included, after %d changes of a slice of 100 endpoints", 2*s.changes),
		bytesText(grown), "192 KiB", grown <= 192<<10)
	figures.tell("the same, others' latency", "p99 without and with stuck edges",
		fmt.Sprintf("%s, %s", alone.latency.P99.Round(time.Millisecond), beside.latency.P99.Round(time.Millisecond)))
}

// TestEventsThatConcernNobody measures what an event costs that no edge is sent.
func TestEventsThatConcernNobody(t *testing.T) {
	s := measured(t)
	h := startHub(t, "  - resource: pods\n    boundToNode: spec.nodeName\n")
	const pods = "/api/v1/namespaces/default/pods"
	for i := range writers {
		h.cloud.create(t, pods, pod(fmt.Sprint("app-", i), "nowhere"))
	}
	cost := func() time.Duration {
		before := h.cpu(t)
		h.cloud.each(s.events, func(i int) { h.cloud.patch(t, pods+fmt.Sprint("/app-", i%writers), marker()) })
		return (h.cpu(t) - before) / time.Duration(s.events)
	}
	one := newFleet(t, h, fleet.Config{Edges: 1, Names: "edge-warm-%d"}) // so that the hub follows the pods
	one.connect()
	cost()
	without := cost()
	c := newFleet(t, h, fleet.Config{Edges: s.edges, ConnectRate: 400})
	c.connect()
	time.Sleep(time.Second)
	before := c.Stats()
	with := cost()
	if n := c.Stats().Operations - before.Operations; n != 0 {
		t.Errorf("%d operations came to edges that they don't concern", n)
	}
	if with > 3*without+time.Millisecond {
		t.Errorf("an event costs the hub %s with %d edges that it doesn't concern, %s without", with, s.edges, without)
	}
	figures.add("an event that concerns no edge", fmt.Sprintf("hub's processor time for a write with no edges and with %d, progress included", s.edges),
		fmt.Sprintf("%d µs, %d µs", without.Microseconds(), with.Microseconds()), "the same", with < without*5/4)
}
