package identity

import (
	"cmp"
	"container/list"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tombolo-sync/tombolo/cloudhub/audit"
	"github.com/tombolo-sync/tombolo/cloudhub/throttle"
)

// Standing tells whether edges may be here, whatever their certificates say. It must be quick and safe for concurrent use.
type Standing interface {
	// Check returns nil for an edge that may be here with a certificate that is valid from notBefore on, an error that wraps
	// ErrBarred for one that may not, and another error while that can't be told.
	Check(edge string, notBefore time.Time) error
	// Changed is closed when an answer of Check may have changed.
	Changed() <-chan struct{}
}

// ErrBarred is what a Standing answers of an edge that was revoked or deleted.
var ErrBarred = errors.New("revoked")

// Config is what a Gate needs. TLS and Authorities are required.
type Config struct {
	// TLS is the hub's side: its certificate, and session tickets as it likes. What it says of clients is not used.
	TLS *tls.Config
	// Authorities returns who signs edges' certificates, now.
	Authorities func() *x509.CertPool
	// Standings have a say each. None: whoever has a certificate may be here.
	Standings []Standing
	// Anonymous is the one method that may be called without a certificate; "" for none.
	Anonymous string
	// Lapsed is the one method that may be called with a certificate that has expired no longer than Grace ago.
	Lapsed string
	Grace  time.Duration
	// Pins returns the authorities of the hub's own certificate. They are sent to whoever has only a hash of one.
	Pins    func() []*x509.Certificate
	Audit   *audit.Log
	Logger  *slog.Logger
	Metrics prometheus.Registerer
}

// Gate decides who comes in, with which certificate, and throws out who may no longer be here.
//
// A handshake succeeds with a certificate of Authorities, current or expired within Grace, or with none. What may be called
// then is decided before anything of a call is read (Admit). Everything that was decided of a connection is looked at
// again when a Standing changes, and the clock is looked at all the time: see Run.
type Gate struct {
	cfg     Config
	metrics *metrics
	fails   *throttle.Throttle // of addresses and, for those that have shown a certificate, of edges
	refused chan refusal       // to be written by Run

	mu        sync.Mutex // guards all below
	conns     map[*Conn]struct{}
	anonymous pool                 // those of them without a certificate
	limited   pool                 // those with one that is good for little: see Conn.Edge
	newest    map[string]time.Time // for each edge, the beginning of the newest certificate of ours that was used
	friends   map[string]struct{}  // addresses that an edge has come from; at most maxFriends
	callers   *list.List           // of net.Conn, whose handshakes are under way, the oldest first
}

const (
	// failEvery and failBurst are the budget of failures of an address or an edge.
	failEvery = time.Second
	failBurst = 60
	// maxFriends bounds what is known of addresses.
	maxFriends = 4096
	// maxAnonymous and maxLimited bound the connections without a certificate, or with one that is good for little, of all
	// addresses and of each. They need no longer than limitedFor.
	maxAnonymous, anonymousEach = 64, 16
	maxLimited, limitedEach     = 512, 256
	limitedFor                  = 20 * time.Second
	// anonymousBytes is how much a connection without a certificate may send: a request is 8 KiB at most.
	anonymousBytes = 64 << 10
	// maxCallers bounds the handshakes under way, at some 10 KiB each. Beyond, the oldest is given up: it takes a fraction of
	// a second to whom means it, so that who only holds on keeps nobody out. All edges of a hub may come at once after an
	// outage, and each that is given up comes again: the bound is beyond them.
	maxCallers = 16_384
	// partingTime is how long a connection may go on that is to be closed, so that the reason gets across.
	partingTime = time.Second
	// sweepEvery is how often connections are looked at whose time may have come.
	sweepEvery = time.Second
)

// New returns a gate. Errors: a required part of the configuration is missing.
func New(cfg Config) (*Gate, error) {
	if cfg.TLS == nil || cfg.Authorities == nil {
		return nil, errors.New("identity: a TLS configuration and the edges' authorities are required")
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	cfg.Audit = cmp.Or(cfg.Audit, audit.New(cfg.Logger))
	if cfg.Metrics == nil {
		cfg.Metrics = prometheus.NewRegistry()
	}
	g := &Gate{
		cfg: cfg, fails: throttle.New(failEvery, failBurst), refused: make(chan refusal, 256),
		anonymous: newPool(maxAnonymous, anonymousEach), limited: newPool(maxLimited, limitedEach),
		conns: map[*Conn]struct{}{}, newest: map[string]time.Time{}, friends: map[string]struct{}{},
		callers: list.New(),
	}
	g.metrics = newMetrics(cfg.Metrics, g)
	return g, nil
}

// Run closes the connections of who may no longer be here, and writes down who was refused, until ctx ends.
func (g *Gate) Run(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	var followers sync.WaitGroup
	defer followers.Wait()
	for _, s := range g.cfg.Standings {
		followers.Go(func() { follow(ctx, s, changed) })
	}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case r := <-g.refused:
			g.cfg.Audit.Write(r.entry())
		case <-changed:
			g.review()
		case now := <-tick.C:
			g.sweep(now)
		}
	}
}

// follow signals each change of a standing.
func follow(ctx context.Context, s Standing, changed chan<- struct{}) {
	for {
		next := s.Changed() // before the review, so that no change is missed
		select {
		case changed <- struct{}{}:
		default: // a review is due anyway
		}
		select {
		case <-ctx.Done():
			return
		case <-next:
		}
	}
}

// review has those leave who may no longer be here.
func (g *Gate) review() {
	for _, c := range g.where(func(c *Conn) bool { return c.edge != "" }) {
		if err := g.standing(c); errors.Is(err, ErrBarred) {
			g.expel(c, "disconnect", err.Error())
			_ = c.Close() // what it has under way fails, which is what it is closed for
		}
	}
}

// sweep closes the connections whose time is over.
func (g *Gate) sweep(now time.Time) {
	for _, c := range g.where(func(c *Conn) bool { return now.UnixMilli() >= c.until.Load() }) {
		_ = c.Close() // likewise
	}
}

// where returns the connections for which is holds. It is called with the lock held.
func (g *Gate) where(is func(c *Conn) bool) (out []*Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		if is(c) {
			out = append(out, c)
		}
	}
	return out
}

// standing returns the first objection to who is at the other end of a connection.
func (g *Gate) standing(c *Conn) error {
	for _, s := range g.cfg.Standings {
		if err := s.Check(c.edge, c.notBefore); err != nil {
			return err
		}
	}
	return nil
}
