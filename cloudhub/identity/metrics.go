package identity

import "github.com/prometheus/client_golang/prometheus"

type metrics struct{ refusals *prometheus.CounterVec }

func newMetrics(reg prometheus.Registerer, g *Gate) *metrics {
	m := &metrics{refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tombolo_hub_authentication_failures_total",
		Help: "Connections and calls that were refused for who they are of, by kind.",
	}, []string{"kind"})}
	reg.MustRegister(m.refusals, connections{g, prometheus.NewDesc("tombolo_hub_connections",
		"Connections by the key id of the authority that signed the edge's certificate; empty for those without one.",
		[]string{"authority"}, nil)})
	return m
}

func (m *metrics) refused(kind string) { m.refusals.WithLabelValues(kind).Inc() }

// connections counts when it is asked to. There are as many series as authorities.
type connections struct {
	gate *Gate
	desc *prometheus.Desc
}

func (c connections) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

func (c connections) Collect(ch chan<- prometheus.Metric) {
	counts := map[string]int{}
	c.gate.where(func(conn *Conn) bool {
		counts[conn.authority]++
		return false
	})
	for authority, n := range counts {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n), authority)
	}
}
