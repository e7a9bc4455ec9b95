// Package cloudhub is the cloud's side: a source of objects, scopes, and the service that edges sync from. Hub wires
// them.
package cloudhub

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/tombolo-sync/tombolo/cloudhub/audit"
	"github.com/tombolo-sync/tombolo/cloudhub/callsrv"
	"github.com/tombolo-sync/tombolo/cloudhub/enroll"
	"github.com/tombolo-sync/tombolo/cloudhub/identity"
	"github.com/tombolo-sync/tombolo/cloudhub/site"
	"github.com/tombolo-sync/tombolo/cloudhub/syncsrv"
)

// Source is where the objects come from, with a life of its own.
type Source interface {
	syncsrv.Source
	syncsrv.Held
	syncsrv.Prover
	// Run follows the cloud until ctx ends.
	Run(ctx context.Context) error
	// Ready tells why edges had better ask another hub, nil when there is no reason.
	Ready() error
}

// Config is what a Hub needs. Everything but Cloud, Gate, Enroll, Logger, Metrics and Software is
// required.
type Config struct {
	Source Source
	Cloud  callsrv.Cloud // where calls of edges' clients go; nil: none are carried
	Scopes syncsrv.Scopes
	// Sites, if any, takes the place of Scopes: EdgeSites say who may be here and have what, and are told how edges do, in
	// this hub's Name, through WriteStatus (see site.ReporterConfig).
	Sites       *site.Registry
	Name        string
	WriteStatus func(ctx context.Context, name string, patch []byte) error
	Listener    net.Listener // where edges connect; Run closes it
	Credentials credentials.TransportCredentials
	Insecure    bool // edges are who they say they are: development only
	// Gate, if any, decides who comes in, and takes the place of Credentials.
	Gate *identity.Gate
	// Enroll, if any, gives edges their certificates.
	Enroll *enroll.Server
	// Audit is told of calls that are to change something.
	Audit    *audit.Log
	Software string
	Logger   *slog.Logger
	Metrics  prometheus.Registerer
	// DrainTimeout is how long calls may go on when the hub ends, if edges have found another one. 0: a moment.
	DrainTimeout time.Duration
	// ProgressInterval, CheckInterval and MaxSessionAge: see syncsrv.Config.
	ProgressInterval, CheckInterval, MaxSessionAge time.Duration
}

// Hub is a running hub.
type Hub struct {
	cfg   Config
	srv   *syncsrv.Server
	calls *callsrv.Server // nil: none are carried
	// reporter writes the status of EdgeSites; nil without them.
	reporter *site.Reporter
}

// New returns a hub. Errors: a required part of the configuration is missing.
func New(cfg Config) (*Hub, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Sites != nil {
		cfg.Scopes = cfg.Sites
	}
	sync := syncsrv.Config{
		Source: cfg.Source, Held: cfg.Source, Prover: cfg.Source, Scopes: cfg.Scopes, Credentials: cfg.Credentials, Insecure: cfg.Insecure,
		Software: cfg.Software, Logger: cfg.Logger, Metrics: cfg.Metrics,
		ProgressInterval: cfg.ProgressInterval, CheckInterval: cfg.CheckInterval, MaxSessionAge: cfg.MaxSessionAge,
	}
	if cfg.Gate != nil {
		sync.Credentials, sync.Admit = cfg.Gate.Credentials(), cfg.Gate.Admit
	}
	h := &Hub{cfg: cfg}
	if cfg.Sites != nil {
		sync.Standing = cfg.Sites
		h.reporter = site.NewReporter(site.ReporterConfig{
			Registry: cfg.Sites, Hub: cfg.Name, Seen: h.seen, Write: cfg.WriteStatus, Logger: cfg.Logger,
		})
	}
	sync.Register = h.register
	var err error
	if cfg.Cloud != nil {
		h.calls, err = callsrv.New(callsrv.Config{
			Cloud: cfg.Cloud, Scopes: cfg.Scopes, Identity: identity.Rule{Insecure: cfg.Insecure},
			Audit: cfg.Audit, Logger: cfg.Logger, Metrics: cfg.Metrics,
		})
		if err != nil {
			return nil, err
		}
		sync.MaxStreams = h.calls.MaxStreams()
	}
	h.srv, err = syncsrv.New(sync)
	return h, err
}

// seen calls f for each edge that is connected.
func (h *Hub) seen(f func(site.Seen)) {
	h.srv.Statuses(func(s syncsrv.Status) {
		f(site.Seen{
			Edge: s.Edge, Version: s.Software, CertificateNotAfter: s.CertificateNotAfter, Resources: s.Resources, Wanted: s.Wanted,
			Position: s.Position, Objects: s.Objects, Bytes: s.Bytes, Behind: s.Behind,
		})
	})
}

// register adds the services beside the sync service.
func (h *Hub) register(r grpc.ServiceRegistrar) {
	if h.calls != nil {
		h.calls.Register(r)
	}
	if h.cfg.Enroll != nil {
		h.cfg.Enroll.Register(r)
	}
}

const (
	// shutdownGrace is how long it may take to end what is left.
	shutdownGrace = 5 * time.Second
	// callGrace is how long calls may go on whose edges know no other hub: enough for writes. A log that is followed for as
	// long as there is somebody to read it must not keep the next process from serving the edges.
	callGrace = 2 * time.Second
)

// Run serves edges until ctx ends; then it asks them to leave, and stops the source last. Calls may go on for as long as
// Config.DrainTimeout if there are edges that have found another hub, for a moment if there are not.
func (h *Hub) Run(ctx context.Context) error {
	sourceCtx, stopSource := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSource()
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := h.cfg.Source.Run(sourceCtx); err != nil && sourceCtx.Err() == nil {
			return fmt.Errorf("source: %w", err)
		}
		return nil
	})
	g.Go(func() error { return h.srv.Serve(h.cfg.Listener) })
	if h.cfg.Sites != nil {
		g.Go(func() error { return h.cfg.Sites.Run(sourceCtx) })
		g.Go(func() error { return h.reporter.Run(sourceCtx) })
	}
	if h.cfg.Gate != nil {
		g.Go(func() error { return h.cfg.Gate.Run(sourceCtx) })
	}
	g.Go(func() error {
		<-gctx.Done()
		h.shutdown(context.WithoutCancel(ctx))
		stopSource()
		return nil
	})
	return g.Wait()
}

// shutdown ends sessions, then calls, then the rest.
func (h *Hub) shutdown(ctx context.Context) {
	left := h.srv.Drain(ctx)
	if h.calls != nil {
		grace := callGrace
		if left {
			grace = max(grace, h.cfg.DrainTimeout)
		}
		h.cfg.Logger.Info("edges were asked to leave", "elsewhere", left, "calls", grace)
		calls, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		h.calls.Shutdown(calls)
		defer h.calls.Wait()
	}
	stop, cancel := context.WithTimeout(ctx, shutdownGrace)
	defer cancel()
	h.srv.Shutdown(stop)
}

// Ready tells why edges can't be served yet, nil when they can.
func (h *Hub) Ready() error {
	if err := h.cfg.Source.Ready(); err != nil {
		return err
	}
	if h.cfg.Sites != nil {
		return h.cfg.Sites.Ready()
	}
	return nil
}
