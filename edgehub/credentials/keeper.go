package credentials

import (
	"cmp"
	"context"
	"crypto"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tombolo-sync/tombolo/internal/pki"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
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
}

const (
	// firstCheck is when hubs are asked first after the start, at a random time up to it.
	firstCheck = 3 * time.Second
	// linkWait is when to look again for a link to ask over.
	linkWait = 5 * time.Second
	// minRetry and maxRetry bound the wait after a failure, which doubles.
	minRetry = time.Second
	maxRetry = 5 * time.Minute
	// refreshEvery is how often the folder is looked at when renewals fail.
	refreshEvery = 2 * time.Second
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
	if k.cfg.Identity.refresh() {
		k.cfg.Logger.Info("the edge has joined anew", "serial", k.cfg.Identity.Serial())
		k.begin()
	}
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
	if k.failures > 0 {
		wait = min(wait, refreshEvery) // somebody may be joining the edge anew
	}
	return min(wait, due)
}

// untilDue returns in which time the certificate is to be renewed.
func (k *Keeper) untilDue() time.Duration {
	leaf := k.cfg.Identity.current.Load().leaf()
	return dueAt(leaf, k.share).Sub(k.cfg.Identity.clock.now())
}

// renewNow tries to renew the certificate.
func (k *Keeper) renewNow(ctx context.Context) {
	i := k.cfg.Identity
	err := k.renew(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		k.renewed.WithLabelValues("failed").Inc()
		wait := min(minRetry<<min(k.failures, 20), maxRetry, max(time.Until(i.NotAfter())/10, minRetry*10))
		wait = wait/2 + rand.N(wait/2+1) //nolint:gosec // likewise
		k.failures++
		k.retryAt = time.Now().Add(wait)
		k.cfg.Logger.Warn("the certificate could not be renewed", "not_after", i.NotAfter(), "err", err, "retry", wait.Round(time.Second))
		return
	}
	k.renewed.WithLabelValues("renewed").Inc()
	k.cfg.Logger.Info("certificate renewed", "serial", i.Serial(), "not_after", i.NotAfter())
	k.begin()
}

// begin begins with another certificate.
func (k *Keeper) begin() {
	k.failures, k.early, k.sameKey, k.next, k.share = 0, false, false, nil, rand.Float64() //nolint:gosec // likewise
	// Even a hub that signs certificates that are due at once, or of an old authority, is not asked without a pause.
	k.retryAt = time.Now().Add(minRetry)
	if k.cfg.Rotated != nil {
		k.cfg.Rotated()
	}
}

// renew gets another certificate: for a new key, unless the one in force has expired, in which case a hub takes no other.
func (k *Keeper) renew(ctx context.Context) error {
	i := k.cfg.Identity
	m := i.current.Load()
	key := m.key
	expired := !i.clock.now().Before(m.leaf().NotAfter)
	if !expired && !k.sameKey {
		var err error
		if key, err = k.nextKey(); err != nil {
			return err
		}
	}
	der, err := request(key)
	if err != nil {
		return err
	}
	var answer *tombolov1.RenewResponse
	err = k.call(ctx, expired, func(ctx context.Context, c tombolov1.JoinServiceClient) (err error) {
		answer, err = c.Renew(ctx, &tombolov1.RenewRequest{Request: der})
		return err
	})
	if err != nil {
		k.sameKey = k.sameKey || status.Code(err) == codes.PermissionDenied
		return err
	}
	next, err := receive(answer.GetCredential(), key, i.Edge())
	if err != nil {
		return err
	}
	i.clock.set(answer.GetCredential().GetTimeMs())
	k.next = nil // in force, or not good for anything
	return i.replace(next)
}

// nextKey returns the key to renew for: a new one, unless there is one that no answer has come for.
func (k *Keeper) nextKey() (crypto.Signer, error) {
	if k.next == nil {
		key, err := k.cfg.Identity.folder.keys().New()
		if err != nil {
			return nil, err
		}
		k.next = key
	}
	return k.next, nil
}

// check asks a hub what has changed, over the link of the session: without one there is no hurry.
func (k *Keeper) check(ctx context.Context) {
	i := k.cfg.Identity
	k.checkAt = time.Now().Add(linkWait)
	link := k.cfg.Link()
	if link == nil && k.untilDue() > 0 && !i.clock.now().Before(i.current.Load().leaf().NotBefore) {
		return
	}
	var answer *tombolov1.CheckResponse
	err := k.call(ctx, false, func(ctx context.Context, c tombolov1.JoinServiceClient) (err error) {
		answer, err = c.Check(ctx, &tombolov1.CheckRequest{AuthoritiesHash: pki.Hash(i.current.Load().authorities)})
		return err
	})
	switch {
	case ctx.Err() != nil:
		return
	case status.Code(err) == codes.Unimplemented: // the hub leaves certificates to others
		k.checkAt = time.Now().Add(longestCheck)
	case status.Code(err) == codes.Unauthenticated: // by the hub's clock it has expired
		k.early, k.sameKey = true, true
	case err != nil:
		k.checkAt = time.Now().Add(maxRetry)
		k.cfg.Logger.Debug("no hub says whether authorities have changed", "err", err)
	default:
		k.checked(answer)
	}
}

// checked takes over what a hub said.
func (k *Keeper) checked(a *tombolov1.CheckResponse) {
	i := k.cfg.Identity
	i.clock.set(a.GetTimeMs())
	every := min(max(time.Duration(a.GetIntervalMs())*time.Millisecond, time.Second), longestCheck)
	k.checkAt = time.Now().Add(every*9/10 + rand.N(every/5+1)) //nolint:gosec // likewise
	k.early = k.early || a.GetRenew()
	if len(a.GetAuthorities()) == 0 {
		return
	}
	authorities, err := parse(a.GetAuthorities())
	if err == nil {
		err = i.trust(authorities)
	}
	if err != nil {
		k.cfg.Logger.Error("authorities of hubs could not be taken over", "err", err)
		return
	}
	k.cfg.Logger.Info("authorities of hubs replaced", "count", len(authorities))
}

// call makes a call over the session's link, or else over connections of its own to the hubs in turn.
func (k *Keeper) call(ctx context.Context, apart bool, do func(context.Context, tombolov1.JoinServiceClient) error) error {
	if link := k.cfg.Link(); link != nil && !apart {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return do(ctx, tombolov1.NewJoinServiceClient(link))
	}
	var errs []error
	for _, hub := range k.cfg.Hubs {
		err := k.callHub(ctx, hub, do)
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("hub %s: %w", hub, err))
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

func (k *Keeper) callHub(ctx context.Context, hub string, do func(context.Context, tombolov1.JoinServiceClient) error) error {
	conn, err := dial(hub, k.cfg.Identity.Transport())
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing is under way any more
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return do(ctx, tombolov1.NewJoinServiceClient(conn))
}
