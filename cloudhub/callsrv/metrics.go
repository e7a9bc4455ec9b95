package callsrv

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the server's. No label depends on an edge or an object, so their number is bounded.
type metrics struct {
	inFlight prometheus.Gauge
	refused  prometheus.Counter
	calls    *prometheus.CounterVec // by verb and code
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tombolo_hub_calls_in_flight", Help: "Requests of edges' clients that are under way to the API server.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tombolo_hub_calls_refused_total", Help: "Requests refused because too many are under way.",
		}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tombolo_hub_calls_total", Help: "Requests of edges' clients that ended, by verb and HTTP status.",
		}, []string{"verb", "code"}),
	}
	reg.MustRegister(m.inFlight, m.refused, m.calls)
	return m
}

// codeLabel is "none" for a request that was not answered.
func codeLabel(code int) string {
	switch {
	case code == 0:
		return "none"
	case code < 100 || code > 599:
		return "other"
	default:
		return strconv.Itoa(code)
	}
}
