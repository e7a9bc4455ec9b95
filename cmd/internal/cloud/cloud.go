// Package cloud puts the cloud's side together: a source, the hub over it, the API of an embedded cloud, and the address
// for operators.
package cloud

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/tombolo-sync/tombolo/cloudhub"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded"
	"github.com/tombolo-sync/tombolo/internal/obs"
	"github.com/tombolo-sync/tombolo/internal/run"
	"github.com/tombolo-sync/tombolo/litesrv"
)

// Config is what the cloud's side needs. HTTP may be nil; API, Handler and Embedded are all there or all nil.
type Config struct {
	Hub      *cloudhub.Hub
	Embedded *embedded.Cloud // the source, when it is our own
	API      net.Listener    // of the embedded cloud's Kubernetes API
	Handler  http.Handler    // that API
	HTTP     net.Listener    // of metrics and health
	Profiles bool            // and of profiles
	Logger   *slog.Logger
	Metrics  *prometheus.Registry
}

// Run serves until ctx ends. It closes the listeners and the embedded cloud.
func Run(ctx context.Context, cfg Config) error {
	err := serve(ctx, cfg)
	if cfg.Embedded != nil {
		err = errors.Join(err, cfg.Embedded.Close())
	}
	return err
}

func serve(ctx context.Context, cfg Config) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return cfg.Hub.Run(ctx) })
	g.Go(func() error { run.ReturnMemory(ctx); return nil })
	if cfg.Embedded != nil {
		g.Go(func() error { return run.HTTP(ctx, cfg.API, litesrv.NewHTTPServer(cfg.Handler), cfg.Logger) })
	}
	if cfg.HTTP != nil {
		h := obs.Handler(cfg.Metrics, cfg.Hub.Ready)
		if cfg.Profiles {
			h = obs.WithProfiles(h)
		}
		g.Go(func() error { return run.HTTP(ctx, cfg.HTTP, run.Server(h), cfg.Logger) })
	}
	return g.Wait()
}

// API returns the Kubernetes API of an embedded cloud: its own writes, and litesrv's reads over the same logs.
func API(c *embedded.Cloud, logger *slog.Logger, reg prometheus.Registerer) (http.Handler, error) {
	reads, err := litesrv.New(litesrv.Config{Backend: c, Logger: logger, Metrics: reg})
	if err != nil {
		return nil, fmt.Errorf("reads of the embedded cloud: %w", err)
	}
	return embedded.NewAPI(c, reads), nil
}
