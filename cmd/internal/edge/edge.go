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
	"github.com/tombolo-sync/tombolo/edgehub/authority"
	"github.com/tombolo-sync/tombolo/internal/access"
	"github.com/tombolo-sync/tombolo/internal/obs"
	"github.com/tombolo-sync/tombolo/internal/run"
	"github.com/tombolo-sync/tombolo/litesrv"
)

// Config is what an edge needs. What is a pointer or an interface may be nil, but for Agent, Serve and the last two.
type Config struct {
	Agent *edgehub.Agent
	Serve net.Listener // of the Kubernetes API
	TLS   *tls.Config  // of the Kubernetes API; nil: plain HTTP
	HTTP  net.Listener // of metrics and health
	// Socket, if any, serves the Kubernetes API to SocketUser, without TLS.
	Socket     net.Listener
	SocketUser *access.User
	// Authenticator and Authorizer: see litesrv.Config.
	Authenticator litesrv.Authenticator
	Authorizer    litesrv.Authorizer
	// Kubeconfig, if any, is kept current.
	Kubeconfig *authority.Kubeconfig
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
		Authenticator: cfg.Authenticator, Authorizer: cfg.Authorizer,
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
	if cfg.Socket != nil {
		local := litesrv.NewHTTPServer(api)
		local.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { return access.With(ctx, cfg.SocketUser) }
		g.Go(func() error { return run.HTTP(ctx, cfg.Socket, local, cfg.Logger) })
	}
	if cfg.Kubeconfig != nil {
		g.Go(func() error { cfg.Kubeconfig.Keep(ctx, cfg.Logger); return nil })
	}
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
