//go:build e2e

package e2e

import "fmt"

// compare holds every edge against its scope, byte by byte.
func (c *chaos) compare() {
	c.t.Helper()
	for _, e := range c.edges {
		for _, r := range append([]resource{secrets}, chaosResources...) {
			_, want := e.holds(r)
			if r == configMaps || r == secrets {
				want = r.path(chaosNamespace)
			}
			if err := sameItemsWithin(c.t, e.api, r.path(""), c.cloud, want); err != nil {
				c.t.Errorf("%s: %v", e.name, err)
			}
		}
	}
	c.informers.awaitHolds(c.t, c.versions(chaosNamespace))
}

// sparing fails when an edge was sent much more than what changed.
func (c *chaos) sparing() {
	c.t.Helper()
	changes := 0.0
	for i, r := range chaosResources {
		events, _ := c.readers[i].Len() // the sources
		changes += float64(events) / share(r)
	}
	// Everything once, at the beginning. Beyond that there is half of what a resync would bring, for what was under way
	// when a session broke and comes again.
	limit := changes + ballast + ballast/2
	for _, e := range c.edges {
		n := e.counts()
		c.t.Logf("%s: %v; at most %.0f operations", e.name, n, limit)
		if got := n["tombolo_edge_operations_total"]; got > limit {
			c.t.Errorf("%s received %g objects in %g sessions, for %g changes and %d objects that were there",
				e.name, got, n["tombolo_edge_sessions_total"], changes, ballast)
		}
		if got := n["tombolo_edge_received_bytes_total"]; got > limit*bytesAChange+2*bytesOfDocuments {
			c.t.Errorf("%s received %g bytes in %g sessions, for %g changes", e.name, got, n["tombolo_edge_sessions_total"], changes)
		}
		for _, name := range []string{"tombolo_edge_digest_mismatches_total", "tombolo_edge_rewinds_total"} {
			if n[name] > 0 {
				c.t.Errorf("%s: %s is %g", e.name, name, n[name])
			}
		}
	}
}

// share is the number of edges, at least, among which the changes of a resource are divided.
func share(r resource) float64 {
	if r == pods {
		return readersAt
	}
	return 1
}

const (
	bytesAChange     = 2 << 10 // of the objects of the tests, generously
	bytesOfDocuments = 4 << 20 // discovery and OpenAPI, compressed, generously
)

// footprint is what a process takes.
type footprint struct{ goroutines, resident float64 }

// footprints measures all servers.
func (c *chaos) footprints() map[*server]footprint {
	c.t.Helper()
	all := map[*server]footprint{}
	for s, url := range c.urls() {
		all[s] = footprint{mustMetric(c.t, url, "go_goroutines"), mustMetric(c.t, url, "process_resident_memory_bytes")}
	}
	return all
}

// urls are those of the metrics of all servers that run.
func (c *chaos) urls() map[*server]string {
	urls := map[*server]string{}
	for _, h := range c.hubs {
		if h.p != nil {
			urls[h.server] = h.http
		}
	}
	for _, e := range c.edges {
		urls[e.server] = e.http
	}
	return urls
}

// flat fails when a server takes much more than after the warm-up. The window of events may have filled since.
func (c *chaos) flat() {
	c.t.Helper()
	const windows = 96 << 20
	for s, url := range c.urls() {
		before := c.before[s]
		for name, most := range map[string]float64{
			"go_goroutines":                 2*before.goroutines + 50,
			"process_resident_memory_bytes": 2*before.resident + windows,
		} {
			var last float64
			err := within(c.t, func() (err error) {
				if last, err = metric(c.t.Context(), url, name); err == nil && last > most {
					err = fmt.Errorf("%s: %s is %g, and at most %g after a warm-up with %v", s.name, name, last, most, before)
				}
				return err
			})
			if err != nil {
				c.t.Error(err)
			}
			c.t.Logf("%s: %s %g, after the warm-up %v", s.name, name, last, before)
		}
	}
}
