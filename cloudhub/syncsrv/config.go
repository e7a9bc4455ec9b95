package syncsrv

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/tap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/identity"
	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Source is where the objects come from.
type Source interface {
	// Epoch names the cluster; positions of another one mean nothing here. It is "" until it is known.
	Epoch() string
	// Open returns the log of a resource and a function to call when it is no longer needed. The log may not be ready
	// yet. source.ErrUnknownResource when the cloud does not serve the resource.
	Open(ctx context.Context, gr schema.GroupResource) (*watchlog.Log, func(), error)
	// Documents are the cloud's API documents.
	Documents() *apidoc.Set
}

// Held has the logs that a Source has opened.
type Held interface {
	// Held is an Open that does not wait: it returns false unless the log is open and ready.
	Held(gr schema.GroupResource) (*watchlog.Log, func(), bool)
}

// Scopes tells what an edge may hold.
type Scopes interface {
	// For returns the scope of an edge, empty for one that nothing is said of.
	For(edge string) scope.Scope
	// Changed is closed when a scope may have changed.
	Changed() <-chan struct{}
}

// Config is what a Server needs. Source and Scopes are required.
type Config struct {
	Source Source
	Scopes Scopes
	// Held, if any, is how edges that come back are resumed in the Welcome; nil: each resource is opened first.
	Held Held
	// Prover answers edges' questions. nil: all of them fail, and edges say that what they serve may be behind.
	Prover Prover
	// Standing tells which edges may be here, beside what the transport decides. nil: all of them.
	Standing identity.Standing
	// Credentials are the transport's: mutual TLS, or insecure for development, where an edge is who it says it is.
	Credentials credentials.TransportCredentials
	Insecure    bool
	Software    string // version, told to edges
	Logger      *slog.Logger
	Metrics     prometheus.Registerer

	// ProgressInterval is how often an edge hears that the hub is there. 0 means 5 s. Positions that moved without an event
	// for it come along now and then: see advance.go.
	ProgressInterval time.Duration
	// CheckInterval is how often an edge's digests are compared with the hub's. 0 means 5 min.
	CheckInterval time.Duration
	// Window bounds the bytes of messages that are under way to an edge and not yet acknowledged; one message may go
	// beyond it. 0 means 256 KiB.
	Window int64
	// MaxSessionAge is how long a session may last before the edge is asked to go elsewhere, which spreads edges over hubs
	// that were added or came back; a tenth more or less, by chance. 0 means for ever.
	MaxSessionAge time.Duration
	// MaxSessions bounds the sessions; more are refused with RESOURCE_EXHAUSTED. 0 means 20,000.
	MaxSessions int
	// OpenRate bounds the sessions opened a second, with bursts of twice as many. 0 means 1,000: two cores open as many
	// beside the handshakes of those that wait.
	OpenRate float64
	// ForgetAfter is how long a resource must be unknown to the cloud before edges are told to forget it, so that a
	// hiccup of discovery costs nobody its data. 0 means 30 s.
	ForgetAfter time.Duration
	// Register, if any, adds further services to the gRPC server. They share its interceptors, but not the limits of
	// sessions. MaxStreams bounds the streams of one connection for all services together. 0 means 8.
	Register   func(grpc.ServiceRegistrar)
	MaxStreams uint32
	// Admit, if any, decides on every call, of all services, before anything of it is read.
	Admit tap.ServerInHandle

	// helloLimit is how long a stream may be open without a first message. 0 means 20 s.
	helloLimit time.Duration
}

func (c *Config) setDefaults() error {
	if c.Source == nil || c.Scopes == nil {
		return errors.New("syncsrv: a source and scopes are required")
	}
	if c.Credentials == nil {
		return errors.New("syncsrv: transport credentials are required")
	}
	c.ProgressInterval = cmp.Or(c.ProgressInterval, 5*time.Second)
	c.CheckInterval = cmp.Or(c.CheckInterval, 5*time.Minute)
	c.Window = cmp.Or(c.Window, 256<<10)
	c.MaxSessions = cmp.Or(c.MaxSessions, 20_000)
	c.OpenRate = cmp.Or(c.OpenRate, 1000)
	c.ForgetAfter = cmp.Or(c.ForgetAfter, 30*time.Second)
	c.helloLimit = cmp.Or(c.helloLimit, 20*time.Second)
	c.MaxStreams = cmp.Or(c.MaxStreams, 8)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	return nil
}
