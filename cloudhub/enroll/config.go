package enroll

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tombolo-sync/tombolo/cloudhub/audit"
	"github.com/tombolo-sync/tombolo/cloudhub/identity"
)

// Tokens keeps join tokens. It must be the same for all replicas of a hub.
type Tokens interface {
	// Token returns a token, ErrNoToken when there is none with the id.
	Token(ctx context.Context, id string) (Token, error)
	// Claim makes a key the holder of a token that has none yet, and returns who holds it then: the first one to claim
	// it, whichever replica was asked, for as long as the token exists.
	Claim(ctx context.Context, id, holder string) (string, error)
}

// Config is what a Server needs. Issuer, Tokens, Revoked and Authorities are required.
type Config struct {
	Issuer  *Issuer
	Tokens  Tokens
	Revoked *Revoked
	// Standing, if any, has a say beside Revoked in who may join and renew.
	Standing identity.Standing
	// Authorities returns by whom edges know hubs, now.
	Authorities func() []*x509.Certificate
	// CheckInterval is how often edges are to ask whether anything has changed. 0 means an hour.
	CheckInterval time.Duration
	// JoinRate bounds the attempts to join a second, of all addresses together. 0 means 20.
	JoinRate float64
	Audit    *audit.Log
	Logger   *slog.Logger
	Metrics  prometheus.Registerer
}

func (c *Config) setDefaults() error {
	if c.Issuer == nil || c.Tokens == nil || c.Revoked == nil || c.Authorities == nil {
		return errors.New("enroll: an issuer, tokens, revocations and authorities are required")
	}
	c.CheckInterval = cmp.Or(c.CheckInterval, time.Hour)
	c.JoinRate = cmp.Or(c.JoinRate, 20)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.Audit = cmp.Or(c.Audit, audit.New(c.Logger))
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	return nil
}
