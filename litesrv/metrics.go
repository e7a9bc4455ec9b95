package litesrv

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// metrics are what a Server counts. No label takes its value from a client: verbs and codes are few, and resources are
// those that are held here.
type metrics struct {
	requests *prometheus.CounterVec   // by verb and code
	duration *prometheus.HistogramVec // by verb; watches are not in it
	bytes    prometheus.Counter
	watches  *prometheus.GaugeVec   // by resource
	frames   *prometheus.CounterVec // by resource
	stale    prometheus.Counter
	panics   prometheus.Counter
	refused  *prometheus.CounterVec // by reason
}

// newMetrics registers the metrics; reg may be nil.
func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	name := func(n, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "tombolo", Subsystem: "litesrv", Name: n, Help: help}
	}
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts(
			name("requests_total", "Requests that were answered.")), []string{"verb", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "tombolo", Subsystem: "litesrv", Name: "request_duration_seconds",
			Help:    "Time that requests other than watches took.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 3, 10, 60},
		}, []string{"verb"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts(
			name("response_bytes_total", "Bytes of answers, as written."))),
		watches: prometheus.NewGaugeVec(prometheus.GaugeOpts(
			name("watches", "Watches that are open.")), []string{"resource"}),
		frames: prometheus.NewCounterVec(prometheus.CounterOpts(
			name("watch_events_total", "Events that were sent on watches.")), []string{"resource"}),
		stale: prometheus.NewCounter(prometheus.CounterOpts(
			name("stale_answers_total", "Answers that said that they may be behind the cloud."))),
		panics: prometheus.NewCounter(prometheus.CounterOpts(
			name("panics_total", "Requests that panicked."))),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts(
			name("refused_total", "Requests that were refused here: unauthenticated (401) or forbidden (403).")), []string{"reason"}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.bytes, m.watches, m.frames, m.stale, m.panics, m.refused} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// resourceLabel names a resource that is held here: "pods", "deployments.apps".
func resourceLabel(r *watchlog.Resource) string { return r.GroupResource().String() }

// codeLabel is "0" for a request whose client left before there was an answer.
func codeLabel(code int) string { return strconv.Itoa(code) }

// verbLabel names what a request asks for. isTarget tells whether t is what its path names.
func verbLabel(r *http.Request, t target, isTarget bool) string {
	switch {
	case !isTarget:
		return "other"
	case t.subresource != "":
		return "subresource"
	}
	switch verb := t.verb(r.Method); verb {
	case "":
		return "other"
	case "list":
		if strings.Contains(r.URL.RawQuery, "watch") && looseBool(r.URL.Query(), "watch") {
			return "watch"
		}
		return verb
	default:
		return verb
	}
}
