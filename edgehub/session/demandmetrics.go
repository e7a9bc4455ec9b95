package session

import "github.com/prometheus/client_golang/prometheus"

// newDemandMetrics registers what tells of the resources that are held, and returns the counter of those on demand.
func newDemandMetrics(reg prometheus.Registerer, c *Client) *prometheus.CounterVec {
	demands := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tombolo_edge_demands_total", Help: "Resources on demand, by what has become of them: wanted, refused, expired.",
	}, []string{"result"})
	reg.MustRegister(demands,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tombolo_edge_resources", Help: "Resources that are held, those on demand included.",
		}, func() float64 { return float64(len(c.Logs())) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tombolo_edge_resources_on_demand", Help: "Resources that are wanted on demand, held or not yet.",
		}, func() float64 { return float64(c.wishes.Len()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tombolo_edge_on_demand_expiry_seconds", Help: "After which time unused resources are let go, 0 for never.",
		}, func() float64 { return c.cfg.OnDemandExpiry.Seconds() }),
	)
	return demands
}
