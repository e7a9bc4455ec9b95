package credentials

import (
	"cmp"
	"context"
	"crypto"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
)

// Config is what a Keeper needs. Identity and Hubs are required.
type Config struct {
	Identity *Identity
	Hubs     []string // host:port, tried in turn when there is no link
	// Link returns the connection of the edge's session, nil when there is none.
	Link func() grpc.ClientConnInterface
	// Rotated, if any, is called after the edge has taken another certificate into use: connections are to be made anew.
	Rotated func()
	Logger  *slog.Logger
	Metrics prometheus.Registerer
}

// Keeper keeps an edge's certificate and the authorities of hubs current.
type Keeper struct {
	cfg     Config
	settled chan struct{}
	settle  func()
	expires prometheus.GaugeFunc
	renewed *prometheus.CounterVec

	// All below belongs to Run.
	share    float64       // see dueAt; another one for each certificate
	early    bool          // a hub wants the certificate to be renewed
	sameKey  bool          // a hub takes it for expired, or might: it renews for the same key only
	next     crypto.Signer // of a renewal whose answer has not come; nil for none
	checkAt  time.Time     // by our own clock, as retryAt
	retryAt  time.Time     // before which nothing is renewed
	failures int           // in a row
	trouble  string        // with the folder, as it was last said; "" for none
}

const (
	// firstCheck is when hubs are asked first after the start, at a random time up to it.
	firstCheck = 3 * time.Second
	// linkWait is when to look again for a link to ask over.
	linkWait = 5 * time.Second
	// minRetry and maxRetry bound the wait after a failure, which doubles.
	minRetry = time.Second
	maxRetry = 5 * time.Minute
	// refreshEvery is how often the folder is looked at: somebody may be joining the edge anew.
	refreshEvery = 3 * time.Second
	// longestCheck bounds what a hub may set.
	longestCheck = 24 * time.Hour
)

// NewKeeper returns a keeper. Errors: a required part of the configuration is missing.
func NewKeeper(cfg Config) (*Keeper, error) {
	if cfg.Identity == nil || len(cfg.Hubs) == 0 {
		return nil, errors.New("credentials: an identity and hubs are required")
	}
	if cfg.Link == nil {
		cfg.Link = func() grpc.ClientConnInterface { return nil }
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	k := &Keeper{cfg: cfg, settled: make(chan struct{}), share: rand.Float64()} //nolint:gosec // spreads load, keeps no secret
	k.settle = sync.OnceFunc(func() { close(k.settled) })
	k.addMetrics()
	return k, nil
}

func (k *Keeper) addMetrics() {
	k.expires = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tombolo_edge_certificate_expiry_timestamp_seconds", Help: "When the edge's certificate ends, in Unix seconds.",
	}, func() float64 { return float64(k.cfg.Identity.NotAfter().Unix()) })
	k.renewed = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tombolo_edge_certificate_renewals_total", Help: "Attempts to renew the edge's certificate, by result.",
	}, []string{"result"})
	if k.cfg.Metrics != nil {
		k.cfg.Metrics.MustRegister(k.expires, k.renewed)
	}
}

// Settled is closed once a certificate that was due at the start has been renewed, or could not be at first.
func (k *Keeper) Settled() <-chan struct{} { return k.settled }

// Run renews what is due until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	defer k.settle()
	k.checkAt = time.Now().Add(time.Duration(rand.Float64() * float64(firstCheck))) //nolint:gosec // likewise
	for {
		wait := k.step(ctx)
		k.settle()
		if !sleep(ctx, wait) {
			return
		}
	}
}

// step does what is due, and tells when to come again.
func (k *Keeper) step(ctx context.Context) time.Duration {
	k.refresh()
	now := time.Now()
	due := k.untilDue()
	switch {
	case (due <= 0 || k.early) && !now.Before(k.retryAt):
		k.renewNow(ctx)
	case !now.Before(k.checkAt):
		k.check(ctx)
	}
	now = time.Now()
	wait := max(k.checkAt.Sub(now), 0)
	if due = k.untilDue(); due <= 0 || k.early {
		due = max(k.retryAt.Sub(now), 0)
	}
	return min(wait, due, refreshEvery)
}

// refresh takes up a certificate that the edge has joined anew for: when the one in force was revoked nothing else tells of it.
func (k *Keeper) refresh() {
	taken, err := k.cfg.Identity.refresh()
	switch {
	case err == nil:
		k.trouble = ""
	case err.Error() != k.trouble:
		k.trouble = err.Error()
		k.cfg.Logger.Error("the folder of the edge's credentials is of no use, those of before stay in force", "err", err)
	}
	if taken {
		k.cfg.Logger.Info("the edge has joined anew", "serial", k.cfg.Identity.Serial())
		k.begin()
	}
}

// untilDue returns in which time the certificate is to be renewed.
func (k *Keeper) untilDue() time.Duration {
	leaf := k.cfg.Identity.current.Load().leaf()
	return dueAt(leaf, k.share).Sub(k.cfg.Identity.clock.now())
}
