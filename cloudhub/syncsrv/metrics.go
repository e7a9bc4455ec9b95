package syncsrv

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// metrics are the server's. No label depends on an edge or an object, so their number is bounded.
type metrics struct {
	sessions   prometheus.Gauge
	replaced   prometheus.Counter
	panics     prometheus.Counter
	streams    *prometheus.CounterVec // by code
	duration   prometheus.Histogram
	operations *prometheus.CounterVec // by type
	puts       prometheus.Counter     // of operations
	deletes    prometheus.Counter     // of operations
	bytes      prometheus.Counter
	patches    prometheus.Counter
	needs      prometheus.Counter

	documentBytes prometheus.Counter
	plans         *prometheus.CounterVec // by plan
	mismatches    prometheus.Counter
	rewinds       prometheus.Counter
	questions     *prometheus.HistogramVec // by outcome
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		sessions: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tombolo_hub_sessions", Help: "Edge sessions that are open.",
		}),
		replaced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tombolo_hub_sessions_replaced_total", Help: "Sessions ended because the same edge opened a newer one.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tombolo_hub_session_panics_total", Help: "Sessions that ended by a fault of the hub.",
		}),
		streams: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tombolo_hub_streams_total", Help: "Streams that ended, by gRPC code.",
		}, []string{"code"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tombolo_hub_stream_seconds", Help: "How long streams lasted.",
			Buckets: []float64{1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600},
		}),
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tombolo_hub_operations_total", Help: "Operations sent to edges, by type.",
		}, []string{"type"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tombolo_hub_object_bytes_total", Help: "Bytes of objects sent to edges, as patches or compressed where they were.",
		}),
		patches: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tombolo_hub_patches_total", Help: "Operations sent to edges as patches.",
		}),
		needs: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tombolo_hub_needs_total", Help: "Objects that edges asked for whole because a patch did not apply.",
		}),
		documentBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tombolo_hub_document_bytes_total", Help: "Bytes of API documents sent to edges, compressed.",
		}),
		plans: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tombolo_hub_plans_total", Help: "How edges were brought up to date with a resource.",
		}, []string{"plan"}),
		mismatches: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tombolo_hub_digest_mismatches_total", Help: "Checkpoints that an edge did not agree with.",
		}),
	}
	m.rewinds = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "tombolo_hub_rewinds_total",
		Help: "Resources that an edge had to go back with, because the cloud was restored from a backup.",
	})
	m.questions = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "tombolo_hub_question_seconds", Help: "Time for a proof that an edge has asked for, by outcome.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 3},
	}, []string{"outcome"})
	m.puts = m.operations.WithLabelValues(tombolov1.OperationType_OPERATION_TYPE_PUT.String())
	m.deletes = m.operations.WithLabelValues(tombolov1.OperationType_OPERATION_TYPE_DELETE.String())
	reg.MustRegister(m.questions, m.sessions, m.replaced, m.panics, m.streams, m.duration, m.operations, m.bytes, m.patches, m.needs, m.documentBytes, m.plans, m.mismatches,
		m.rewinds)
	return m
}

// stream counts a session's stream when it ends.
func (m *metrics) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if info.FullMethod != tombolov1.SyncService_Sync_FullMethodName {
		return next(srv, ss) // other services count for themselves
	}
	start := time.Now()
	err := next(srv, ss)
	m.streams.WithLabelValues(status.Code(err).String()).Inc()
	m.duration.Observe(time.Since(start).Seconds())
	return err
}

// count notes that a piece of a run is sent.
func (m *metrics) count(p *piece) {
	m.puts.Add(float64(p.puts))
	m.deletes.Add(float64(p.deletes))
	m.patches.Add(float64(p.patches))
	m.bytes.Add(float64(p.objects))
}

// question notes how a question came out.
func (m *metrics) question(took time.Duration, err error) {
	outcome := "proved"
	if err != nil {
		outcome = "failed"
	}
	m.questions.WithLabelValues(outcome).Observe(took.Seconds())
}
