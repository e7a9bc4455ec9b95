package session

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/credentials"

	"github.com/tombolo-sync/tombolo/edgehub/store"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Config is what a Client needs. Edge, Hubs, Store and Credentials are required.
type Config struct {
	Edge        string   // the edge's name
	Hubs        []string // host:port of the hubs, tried in turn
	Credentials credentials.TransportCredentials
	Store       *store.Store
	Window      watchlog.Config // of each resource's log
	Software    string          // version, told to the hub
	Logger      *slog.Logger
	Metrics     prometheus.Registerer

	// OnDemandExpiry is how long a resource that is held on demand may go unused, while there is a hub, before the edge
	// lets it go. 0 means never.
	OnDemandExpiry time.Duration

	// MaxBackoff bounds the wait between two attempts to reach a hub; the wait is random up to a bound that doubles from
	// MinBackoff on. 0 means 60 s.
	MaxBackoff time.Duration
	// MinBackoff is the first bound. 0 means 500 ms.
	MinBackoff time.Duration
	// ConnectTimeout bounds an attempt to reach a hub. 0 means 10 s.
	ConnectTimeout time.Duration
}

func (c *Config) setDefaults() error {
	switch {
	case c.Edge == "":
		return errors.New("session: the edge needs a name")
	case len(c.Hubs) == 0:
		return errors.New("session: no hub address")
	case c.Store == nil || c.Credentials == nil:
		return errors.New("session: a store and transport credentials are required")
	}
	c.OnDemandExpiry = max(0, c.OnDemandExpiry)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, time.Minute)
	c.MinBackoff = cmp.Or(c.MinBackoff, 500*time.Millisecond)
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 10*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	return nil
}
