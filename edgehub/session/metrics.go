package session

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/stats"
)

// metrics are the client's.
type metrics struct {
	sessions   prometheus.Counter
	operations prometheus.Counter
	patches    prometheus.Counter
	misses     prometheus.Counter
	commits    prometheus.Histogram
	mismatches prometheus.Counter
	rewinds    prometheus.Counter
	plans      *prometheus.CounterVec
	fetches    prometheus.Counter
	demands    *prometheus.CounterVec
	proofs     *prometheus.HistogramVec // by outcome
}

func newMetrics(reg prometheus.Registerer, c *Client) *metrics {
	m := &metrics{
		sessions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tombolo_edge_sessions_total", Help: "Sessions that a hub took.",
		}),
		operations: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tombolo_edge_operations_total", Help: "Operations received.",
		}),
		patches: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tombolo_edge_patches_total", Help: "Operations received as patches and applied.",
		}),
		misses: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tombolo_edge_patch_misses_total", Help: "Patches that did not apply, so that the object was asked for whole.",
		}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tombolo_edge_commit_seconds", Help: "Time for a group of changes to be durable.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}),
		mismatches: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tombolo_edge_digest_mismatches_total", Help: "Checkpoints that did not agree with what the edge holds.",
		}),
		plans: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tombolo_edge_plans_total", Help: "How resources were brought up to date.",
		}, []string{"plan"}),
	}
	m.rewinds = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "tombolo_edge_rewinds_total", Help: "Resources that went back with a cloud that was restored from a backup.",
	})
	m.fetches = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "tombolo_edge_fetches_total", Help: "Resources that were fetched from nothing. Grows with new resources only.",
	})
	m.demands = newDemandMetrics(reg, c)
	m.proofs = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "tombolo_edge_proof_seconds", Help: "Time for a proof that the edge is as far as the cloud, by outcome.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 3},
	}, []string{"outcome"})
	reg.MustRegister(loadingMetrics{c}, m.proofs, m.sessions, m.operations, m.patches, m.misses, m.commits, m.mismatches, m.rewinds, m.plans, m.fetches,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tombolo_edge_connected", Help: "1 while the edge follows the cloud.",
		}, func() float64 {
			if live, _ := c.Contact(); live {
				return 1
			}
			return 0
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tombolo_edge_last_contact_timestamp_seconds", Help: "When a hub was last heard of, 0 for never.",
		}, func() float64 { return float64(c.heard.Load()) / float64(time.Second) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tombolo_edge_patches_refused", Help: "1 while hubs are asked for whole objects because too many patches did not apply.",
		}, func() float64 {
			if c.trust.lost(time.Now()) {
				return 1
			}
			return 0
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "tombolo_edge_received_bytes_total", Help: "Bytes received from hubs, as they were on the wire.",
		}, func() float64 { return float64(c.bytes.Load()) }),
	)
	return m
}

// proved notes how a proof came out.
func (m *metrics) proved(took time.Duration, err error) {
	outcome := "proved"
	if err != nil {
		outcome = "failed"
	}
	m.proofs.WithLabelValues(outcome).Observe(took.Seconds())
}

// wireCounter counts the bytes of messages as they are on the wire.
type wireCounter struct{ n *atomic.Int64 }

func (wireCounter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (wireCounter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (wireCounter) HandleConn(context.Context, stats.ConnStats)                       {}

func (w wireCounter) HandleRPC(_ context.Context, s stats.RPCStats) {
	if p, ok := s.(*stats.InPayload); ok {
		w.n.Add(int64(p.WireLength))
	}
}
