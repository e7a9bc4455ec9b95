package call

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
)

// Link is the edge's connection to a hub.
type Link interface {
	// Conn returns the connection that a session is open on, nil when there is none.
	Conn() grpc.ClientConnInterface
	// Contact tells when a hub was last heard of.
	Contact() (live bool, last time.Time)
}

// Config is what a Client needs. Edge and Link are required.
type Config struct {
	Edge    string // the edge's name
	Link    Link
	Logger  *slog.Logger
	Metrics prometheus.Registerer
	// MaxURI and MaxHeader bound a request's path with its query, and its header, in bytes: no more than the hub takes.
	// 0 means 64 KiB and 128 KiB.
	MaxURI, MaxHeader int
	// Patience bounds the time in which a client must take a frame of an answer. 0 means 10 minutes.
	Patience time.Duration
}

func (c *Config) setDefaults() error {
	if c.Edge == "" || c.Link == nil {
		return errors.New("call: an edge's name and a link are required")
	}
	c.MaxURI = cmp.Or(c.MaxURI, 64<<10)
	c.MaxHeader = cmp.Or(c.MaxHeader, 128<<10)
	c.Patience = cmp.Or(c.Patience, 10*time.Minute)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	return nil
}
