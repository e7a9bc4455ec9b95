package session

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// loading is how far a catch-up has come.
type loading struct {
	done, left uint64 // objects
	told       bool   // the hub says what is left
}

func (l loading) String() string {
	if !l.told {
		return thousands(l.done) + " so far"
	}
	return thousands(l.done) + " of " + thousands(l.done+l.left)
}

// thousands returns a number with commas.
func thousands(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// sayLoadingEvery is how often the log tells how far catch-ups have come.
const sayLoadingEvery = 10 * time.Second

// loads takes note of how far the catch-up of r has come, left being what the hub says is to come.
func (s *session) loads(r *replica, left uint64) {
	s.c.mu.Lock()
	l := s.c.loading[r.gr]
	l = loading{done: uint64(len(r.step.ops)), left: left, told: l.told || left > 0}
	s.c.loading[r.gr] = l
	s.c.mu.Unlock()
	if now := time.Now(); now.Sub(s.saidLoading) >= sayLoadingEvery {
		if !s.saidLoading.IsZero() {
			s.c.log.Info("loading", "resource", r.gr, "objects", l.String())
		}
		s.saidLoading = now
	}
}

// loaded notes that no catch-up of a resource is under way.
func (c *Client) loaded(gr schema.GroupResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.loading, gr)
}

// maxListed is how many resources a text names.
const maxListed = 10

// unready returns what the edge waits for, nil if for nothing.
func (c *Client) unready() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if len(c.logs) == 0 && !c.scoped {
		return errors.New("no resource is synced yet")
	}
	var all []schema.GroupResource
	for gr := range c.awaited {
		all = append(all, gr)
	}
	for gvr, l := range c.logs {
		if _, ok := c.awaited[gvr.GroupResource()]; !ok && !l.IsReady() && !c.isComing(l) {
			all = append(all, gvr.GroupResource())
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, compareResources)
	var texts []string
	for _, gr := range all[:min(len(all), maxListed)] {
		text := gr.String()
		if l, ok := c.loading[gr]; ok {
			text += ": " + l.String()
		}
		texts = append(texts, text)
	}
	if n := len(all) - len(texts); n > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", n))
	}
	return fmt.Errorf("not synced yet: %s", strings.Join(texts, "; "))
}

// loadingMetrics tells how far catch-ups have come. A resource has figures only while one is under way.
type loadingMetrics struct{ c *Client }

var loadingDesc = prometheus.NewDesc("tombolo_edge_loading_objects",
	"Objects of a catch-up under way that are here, and that are still to come as far as the hub has said.",
	[]string{"resource", "state"}, nil)

// Describe implements prometheus.Collector.
func (loadingMetrics) Describe(to chan<- *prometheus.Desc) { to <- loadingDesc }

// Collect implements prometheus.Collector.
func (m loadingMetrics) Collect(to chan<- prometheus.Metric) {
	m.c.mu.RLock()
	defer m.c.mu.RUnlock()
	for gr, l := range m.c.loading {
		to <- prometheus.MustNewConstMetric(loadingDesc, prometheus.GaugeValue, float64(l.done), gr.String(), "here")
		to <- prometheus.MustNewConstMetric(loadingDesc, prometheus.GaugeValue, float64(l.left), gr.String(), "to come")
	}
}
