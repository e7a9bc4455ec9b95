package callsrv

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tombolo-sync/tombolo/cloudhub/audit"
	"github.com/tombolo-sync/tombolo/cloudhub/identity"
	"github.com/tombolo-sync/tombolo/cloudhub/scope"
)

// Cloud is the API server that requests go to. The transports take requests with a path and a query alone, follow no
// redirects and touch neither headers nor bodies, except for credentials.
type Cloud interface {
	// Caller carries requests that have credentials of their own. It adds none.
	Caller() http.RoundTripper
	// Edge carries requests as an edge's own user, with the hub's credentials. The requests have no credentials, and
	// name nobody to impersonate.
	Edge(name string) http.RoundTripper
}

// Scopes tells what an edge may hold.
type Scopes interface {
	// For returns the scope of an edge, empty for one that nothing is said of.
	For(edge string) scope.Scope
}

// Config is what a Server needs. Cloud and Scopes are required.
type Config struct {
	Cloud    Cloud
	Scopes   Scopes
	Identity identity.Rule
	// Audit is told of what is to change something, and of who is refused.
	Audit   *audit.Log
	Logger  *slog.Logger
	Metrics prometheus.Registerer
	// MaxURI and MaxHeader bound a request's path with its query, and its header, in bytes. 0 means 64 KiB and 128 KiB.
	MaxURI, MaxHeader int
	// MaxBody bounds a request's body, in bytes. 0 means 4 MiB: more than kube-apiserver takes (3 MiB), so that it is
	// the one to refuse. Upgraded connections have no such bound.
	MaxBody int64
	// MaxPerEdge and MaxCalls bound the calls under way of one edge and of all, watches among them. 0 means 200 and
	// 5,000.
	MaxPerEdge, MaxCalls int
	// Idle is how long a call may go without a byte in either direction. 0 means 4 hours, as kubelet has it for exec.
	Idle time.Duration
}

func (c *Config) setDefaults() error {
	if c.Cloud == nil || c.Scopes == nil {
		return errors.New("callsrv: a cloud and scopes are required")
	}
	c.MaxURI = cmp.Or(c.MaxURI, 64<<10)
	c.MaxHeader = cmp.Or(c.MaxHeader, 128<<10)
	c.MaxBody = cmp.Or(c.MaxBody, 4<<20)
	c.MaxPerEdge = cmp.Or(c.MaxPerEdge, 200)
	c.MaxCalls = cmp.Or(c.MaxCalls, 5000)
	c.Idle = cmp.Or(c.Idle, 4*time.Hour)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Audit = cmp.Or(c.Audit, audit.New(c.Logger))
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	return nil
}
