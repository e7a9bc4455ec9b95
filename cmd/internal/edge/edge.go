// Package edge puts an edge together: the agent, the REST facade over it, and the address for operators.
package edge

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/tombolo-sync/tombolo/edgehub"
	"github.com/tombolo-sync/tombolo/internal/obs"
	"github.com/tombolo-sync/tombolo/internal/run"
	"github.com/tombolo-sync/tombolo/litesrv"
)

// Config is what an edge needs. TLS and HTTP may be nil.
type Config struct {
	Agent *edgehub.Agent
	Serve net.Listener // of the Kubernetes API
	TLS   *tls.Config  // of the Kubernetes API; nil: plain HTTP
	HTTP  net.Listener // of metrics and health
	// LocalReads: see litesrv.Config.
	LocalReads bool
	Logger     *slog.Logger
	Metrics    *prometheus.Registry
}

// Run serves until ctx ends. It closes the listeners and the agent's data directory.
func Run(ctx context.Context, cfg Config) error {
	api, err := litesrv.New(litesrv.Config{
		Backend: cfg.Agent, Demand: cfg.Agent.Demand, Fallback: cfg.Agent.Calls(), Beyond: cfg.Agent.Calls().WithinScope,
		Online: cfg.Agent.Calls().Online, Synced: cfg.Agent.Ready, Logger: cfg.Logger, Metrics: cfg.Metrics,
		Prover: prover{cfg.Agent}, LocalReads: cfg.LocalReads, LastContact: cfg.lastContact,
	})
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return cfg.Agent.Run(ctx) })
	g.Go(func() error { run.ReturnMemory(ctx); return nil })
	server := litesrv.NewHTTPServer(api)
	server.TLSConfig = cfg.TLS
	g.Go(func() error { return run.HTTP(ctx, cfg.Serve, server, cfg.Logger) })
	if cfg.HTTP != nil {
		g.Go(func() error {
			return run.HTTP(ctx, cfg.HTTP, run.Server(obs.Handler(cfg.Metrics, cfg.Agent.Ready)), cfg.Logger)
		})
	}
	return g.Wait()
}

func (c *Config) lastContact() time.Time {
	_, last := c.Agent.Contact()
	return last
}
