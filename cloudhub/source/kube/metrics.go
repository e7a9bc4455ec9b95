package kube

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are counted by resource, spelled "deployments.apps".
type metrics struct {
	events   *prometheus.CounterVec
	relists  *prometheus.CounterVec
	failures *prometheus.CounterVec
	refresh  *prometheus.CounterVec
	proofs   *prometheus.HistogramVec // by method and outcome
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "tombolo", Subsystem: "source", Name: name, Help: help,
		}, labels)
	}
	m := &metrics{
		events:   vec("events_total", "Events that watches of the API server brought.", "resource"),
		relists:  vec("relists_total", "Whole states read from the API server, the first included.", "resource"),
		failures: vec("failures_total", "Lists and watches of the API server that failed or broke.", "resource"),
		refresh:  vec("document_refreshes_total", "Fetches of the API documents, by result (changed, same, error).", "result"),
	}
	m.proofs = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "tombolo", Subsystem: "source", Name: "proof_seconds",
		Help:    "Time for a proof that a log is as far as the cloud, by method (position, object, list, watch) and outcome.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 3},
	}, []string{"method", "outcome"})
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.events, m.relists, m.failures, m.refresh, m.proofs} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("kube: metrics: %w", err)
		}
	}
	return m, nil
}

// forget drops the counters of a resource that is not followed any more.
func (m *metrics) forget(resource string) {
	for _, v := range []*prometheus.CounterVec{m.events, m.relists, m.failures} {
		v.DeleteLabelValues(resource)
	}
}

// proved notes how a proof came out.
func (m *metrics) proved(method string, took time.Duration, err error) {
	outcome := "proved"
	if err != nil {
		outcome = "failed"
	}
	m.proofs.WithLabelValues(method, outcome).Observe(took.Seconds())
}
