//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/e2e/clock"
	"github.com/tombolo-sync/tombolo/internal/e2e/link"
)

// links are all the ways of one party, which fail together.
type links []*link.Link

func (l links) each(do func(*link.Link)) {
	for _, way := range l {
		do(way)
	}
}

func (l links) heal() {
	l.each(func(way *link.Link) {
		way.Delay(0)
		way.Heal()
	})
}

// chaosHub is a hub with a link to the API server.
type chaosHub struct {
	*hub
	clock   *clock.Clock
	toCloud links
}

// newChaosHub starts a hub.
func newChaosHub(c *chaos, n int, scopes string) *chaosHub {
	c.t.Helper()
	way := newLink(c.t, strings.TrimPrefix(c.cluster.URL, "https://"))
	h := newHub(c.t, hubConfig{
		name: fmt.Sprintf("hub-%d", n), kubeconfig: unverified(c.t, viaLink(c.t, c.cluster, way.Addr)), scopes: scopes, args: chaosWindow,
	})
	own := c.jumping(h.server)
	h.start()
	return &chaosHub{h, own, links{way}}
}

// chaosWindow is the history that hubs and edges keep of a resource: minutes, so that it is full before the end.
var chaosWindow = []string{"--window-bytes", fmt.Sprint(3 << 20)}

// unverified is a kubeconfig that takes any certificate for the API server's, which clocks that jump find expired.
func unverified(t testing.TB, kubeconfig string) string {
	t.Helper()
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile("certificate-authority: .*").ReplaceAll(text, []byte("insecure-skip-tls-verify: true"))
	if err := os.WriteFile(kubeconfig, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// chaosEdge is an edge with links to all hubs.
type chaosEdge struct {
	*edge
	number  int
	clock   *clock.Clock
	api     *api
	uplinks links
	earlier map[string]float64 // what counters told before the process was killed, added up
	fetched float64            // resources, when everything was there
}

// counted are counters of an edge that matter at the end.
var counted = []string{
	"tombolo_edge_operations_total", "tombolo_edge_received_bytes_total", "tombolo_edge_sessions_total",
	"tombolo_edge_digest_mismatches_total", "tombolo_edge_rewinds_total", "tombolo_edge_fetches_total",
	`tombolo_edge_plans_total{plan="PLAN_RECONCILE"}`,
}

// newChaosEdge launches an edge. It may know the hubs in any order.
func newChaosEdge(c *chaos, n int) *chaosEdge {
	c.t.Helper()
	e := &chaosEdge{number: n, earlier: map[string]float64{}}
	var hubs []string
	for _, h := range c.hubs {
		way := newLink(c.t, h.sync)
		e.uplinks = append(e.uplinks, way)
		hubs = append(hubs, way.Addr)
	}
	c.rng.Shuffle(len(hubs), func(i, j int) { hubs[i], hubs[j] = hubs[j], hubs[i] })
	e.edge = newEdge(c.t, fmt.Sprintf("edge-%d", n), chaosWindow, hubs...)
	e.clock = c.jumping(e.server)
	e.launch()
	e.api = newAPI(c.t, e.name, e.url)
	return e
}

// counts returns the counters since the edge was made. The edge has to be up.
func (e *chaosEdge) counts() map[string]float64 {
	e.t.Helper()
	sum := maps.Clone(e.earlier)
	for _, name := range counted {
		awaitMetric(e.t, e.http, name, func(v float64) bool {
			sum[name] = e.earlier[name] + v
			return true
		})
	}
	return sum
}

// crash kills the edge, verifies what it left, and starts it again.
func (e *chaosEdge) crash(c *chaos, downtime time.Duration) {
	e.t.Helper()
	e.earlier = e.counts()
	e.kill()
	c.history.Restarted(e.name)
	e.check()
	time.Sleep(downtime)
	e.start()
}

// everyServer are all processes of the product that run.
func (c *chaos) everyServer() []*server {
	var all []*server
	for _, h := range c.hubs {
		all = append(all, h.server)
	}
	for _, e := range c.edges {
		all = append(all, e.server)
	}
	return slices.DeleteFunc(all, func(s *server) bool { return s.p == nil })
}
