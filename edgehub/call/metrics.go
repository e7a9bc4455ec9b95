package call

import "github.com/prometheus/client_golang/prometheus"

// metrics are the client's.
type metrics struct {
	inFlight prometheus.Gauge
	offline  prometheus.Counter
	unknown  prometheus.Counter
	cut      prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tombolo_edge_calls_in_flight", Help: "Requests that are under way to the cloud.",
		}),
		offline: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tombolo_edge_calls_offline_total", Help: "Requests that needed the cloud while there was no way to it.",
		}),
		unknown: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tombolo_edge_calls_unknown_total", Help: "Writes of which it is not known whether they have taken effect.",
		}),
		cut: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tombolo_edge_calls_cut_total", Help: "Answers from the cloud that were cut short.",
		}),
	}
	reg.MustRegister(m.inFlight, m.offline, m.unknown, m.cut)
	return m
}
