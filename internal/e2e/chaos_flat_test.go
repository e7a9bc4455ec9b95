//go:build e2e

package e2e

import (
	"slices"
	"time"
)

// footprint is what a process takes.
type footprint struct{ goroutines, resident float64 }

// sample is what all servers that answered took at one time, by name.
type sample struct {
	at  time.Time
	all map[string]footprint
}

// sample measures all servers, about a hundred times in all.
func (c *chaos) sample(duration time.Duration) {
	c.t.Helper()
	every := max(duration/100, time.Second)
	if n := len(c.samples); n > 0 && time.Since(c.samples[n-1].at) < every {
		return
	}
	s := sample{time.Now(), map[string]footprint{}}
	for name, url := range c.urls() {
		goroutines, err := metric(c.t.Context(), url, "go_goroutines")
		if err != nil {
			continue // it is starting
		}
		resident, err := metric(c.t.Context(), url, "process_resident_memory_bytes")
		if err == nil {
			s.all[name] = footprint{goroutines, resident}
		}
	}
	c.samples = append(c.samples, s)
}

// urls are those of the metrics of all servers that run.
func (c *chaos) urls() map[string]string {
	urls := map[string]string{}
	for _, h := range c.hubs {
		if h.p != nil {
			urls[h.name] = h.http
		}
	}
	for _, e := range c.edges {
		urls[e.name] = e.http
	}
	return urls
}

// flat fails when a server takes much more in the last third of the time than in the first: in the middle of what it took,
// because what one moment shows is what the moment asks for.
func (c *chaos) flat() {
	c.t.Helper()
	third := len(c.samples) / 3
	first, last := c.samples[:third], c.samples[len(c.samples)-third:]
	for name := range c.urls() {
		was, n := middle(first, name)
		is, m := middle(last, name)
		if n < 3 || m < 3 {
			c.t.Logf("%s was there at %d and %d moments only", name, n, m)
			continue
		}
		c.t.Logf("%s: %.0f goroutines and %.1f MB in the first third, %.0f and %.1f in the last",
			name, was.goroutines, was.resident/1e6, is.goroutines, is.resident/1e6)
		if is.goroutines > 1.5*was.goroutines+30 || is.resident > 1.3*was.resident+windowsFill {
			c.t.Errorf("%s grows: %+v in the first third, %+v in the last", name, was, is)
		}
	}
}

// windowsFill is what the windows of a process may come to hold between the first third and the last.
const windowsFill = 24 << 20

// middle returns the medians of a server, and of how many samples.
func middle(samples []sample, name string) (footprint, int) {
	var goroutines, resident []float64
	for _, s := range samples {
		if f, ok := s.all[name]; ok {
			goroutines, resident = append(goroutines, f.goroutines), append(resident, f.resident)
		}
	}
	if len(goroutines) == 0 {
		return footprint{}, 0
	}
	slices.Sort(goroutines)
	slices.Sort(resident)
	return footprint{goroutines[len(goroutines)/2], resident[len(resident)/2]}, len(goroutines)
}
