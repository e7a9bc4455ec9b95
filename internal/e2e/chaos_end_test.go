//go:build e2e

package e2e

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

// beginCounts notes what was fetched until everything was there.
func (c *chaos) beginCounts() {
	for _, e := range c.edges {
		e.fetched = e.counts()["tombolo_edge_fetches_total"]
	}
}

// sparesInventories fails when an edge's state was compared with a hub's as a whole, which nothing but a restore asks for.
func (c *chaos) sparesInventories() {
	c.t.Helper()
	for _, e := range c.edges {
		n := e.counts()
		for _, name := range []string{`tombolo_edge_plans_total{plan="PLAN_RECONCILE"}`, "tombolo_edge_digest_mismatches_total", "tombolo_edge_rewinds_total"} {
			if n[name] > 0 {
				c.t.Errorf("%s: before any restore, %s is %g", e.name, name, n[name])
			}
		}
	}
}

// sparing fails when an edge fetched anything from nothing again, or was sent much more than what changed.
func (c *chaos) sparing() {
	c.t.Helper()
	changes := make([]float64, len(chaosResources))
	for i := range chaosResources {
		events, _ := c.readers[i].Len() // the sources
		changes[i] = float64(c.changes[i] + events)
	}
	for _, e := range c.edges {
		n, limit := e.counts(), 0.0
		for i, r := range chaosResources {
			limit += changes[i] * e.share(c, r)
		}
		// Everything once, at the beginning. Beyond that there is half of what a resync would bring, for what was under way
		// when a session broke and comes again.
		limit += ballast + ballast/2
		c.t.Logf("%s: %v; at most %.0f operations", e.name, n, limit)
		if got := n["tombolo_edge_operations_total"]; got > limit {
			c.t.Errorf("%s received %g objects in %g sessions, for %g changes and %d objects that were there",
				e.name, got, n["tombolo_edge_sessions_total"], changes, ballast)
		}
		if got := n["tombolo_edge_received_bytes_total"]; got > limit*bytesAChange+2*bytesOfDocuments {
			c.t.Errorf("%s received %g bytes in %g sessions, for %g changes", e.name, got, n["tombolo_edge_sessions_total"], changes)
		}
		if got := n["tombolo_edge_fetches_total"]; got != e.fetched {
			c.t.Errorf("%s fetched %g resources again from nothing", e.name, got-e.fetched)
		}
		for _, name := range []string{"tombolo_edge_digest_mismatches_total", "tombolo_edge_rewinds_total"} {
			if most := float64(c.restores * (len(chaosResources) + 1)); n[name] > most {
				c.t.Errorf("%s: %s is %g, after %d restores", e.name, name, n[name], c.restores)
			}
		}
	}
}

// share is the part of a resource's changes that an edge is given, or more.
func (e *chaosEdge) share(c *chaos, r resource) float64 {
	switch {
	case r == pods && e.number < readersAt:
		return .5 // its third of one half, and a little of the other
	case r == pods:
		return 1 / float64(len(c.edges))
	case r == deployments && e.number >= readersAt:
		return 0 // nobody asks there
	default:
		return 1
	}
}

const (
	bytesAChange     = 2 << 10 // of the objects of the tests, generously
	bytesOfDocuments = 4 << 20 // discovery and OpenAPI, compressed, generously
)
