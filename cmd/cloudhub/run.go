package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/tombolo-sync/tombolo/cloudhub"
	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/cloudhub/site"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded"
	"github.com/tombolo-sync/tombolo/cloudhub/source/kube"
	"github.com/tombolo-sync/tombolo/cmd/internal/cloud"
	"github.com/tombolo-sync/tombolo/cmd/internal/flags"
	"github.com/tombolo-sync/tombolo/deploy/crds"
	"github.com/tombolo-sync/tombolo/internal/obs"
	"github.com/tombolo-sync/tombolo/internal/run"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// runOptions are the flags of cloudhub run.
type runOptions struct {
	kubeconfig, embedded, api, sync, http, scopes string
	window                                        watchlog.Config
	progress, age, drain                          time.Duration
	profiles, sites                               bool
	name                                          string
	transport                                     flags.Transport
	trust                                         trustOptions
	log                                           flags.Log
}

func runCommand() *cobra.Command {
	o := &runOptions{}
	c := &cobra.Command{
		Use: "run", Short: "Follow a cluster and serve edges", Args: cobra.NoArgs,
		Long: "Follows the cluster of --kubeconfig (in a pod without it: the pod's own), or an embedded cloud of its own in\n" +
			"the directory --embedded, and serves edges what the scopes file says.",
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context()) },
	}
	f := c.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster; in a pod, none means the pod's service account")
	f.StringVar(&o.embedded, "embedded", "", "directory of an embedded cloud, to be used instead of a cluster")
	f.StringVar(&o.api, "api-addr", "127.0.0.1:8001", "loopback address of the embedded cloud's Kubernetes API")
	f.StringVar(&o.sync, "sync-addr", "127.0.0.1:7443", "address that edges connect to")
	f.StringVar(&o.http, "http-addr", "127.0.0.1:7444", "address of /metrics, /healthz and /readyz; empty for none")
	f.BoolVar(&o.profiles, "profiling", false, "serve Go's profiles on --http-addr too, under /debug/pprof/")
	f.StringVar(&o.scopes, "scopes", "", "YAML file that says which edge may hold what; read again when it changes (this or --sites is required)")
	f.BoolVar(&o.sites, "sites", false, "EdgeSite and EdgeScope objects of the cloud say which edges there are and what each may hold, in place of --scopes")
	f.StringVar(&o.name, "name", "", "name of this hub in the status of EdgeSites (default: the host's name)")
	f.Int64Var(&o.window.MaxBytes, "window-bytes", 64<<20, "how much history each resource keeps, in bytes")
	f.IntVar(&o.window.MaxEvents, "window-events", 1_000_000, "how much history each resource keeps, in events")
	f.DurationVar(&o.progress, "progress-interval", 5*time.Second,
		"how often edges hear that the hub is there; one that hears nothing for three times as long goes elsewhere")
	f.DurationVar(&o.age, "max-session-age", time.Hour,
		"how long an edge stays before it is asked to go elsewhere, which spreads edges over hubs; 0 for as long as it likes")
	f.DurationVar(&o.drain, "drain-timeout", time.Minute,
		"when the process is told to end and edges have found another hub: how long logs, exec and other calls under way may go on")
	o.transport.Add(c)
	o.trust.add(c)
	o.log.Add(c)
	c.MarkFlagsOneRequired("scopes", "sites")
	c.MarkFlagsMutuallyExclusive("scopes", "sites")
	return c
}

func (o *runOptions) run(ctx context.Context) error {
	logger, err := o.log.Logger()
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	tuneGC()
	tls, err := o.transport.ServerTLS(o.sync)
	if err != nil {
		return err
	}
	var scopes *scope.Watched
	if !o.sites {
		if scopes, err = scope.Watch(o.scopes, logger); err != nil {
			return fmt.Errorf("--scopes: %w", err)
		}
	}
	if o.transport.Insecure {
		logger.Warn("INSECURE: no TLS, and edges are who they say they are; for development only")
	}
	cfg := cloud.Config{Logger: logger, Metrics: obs.NewRegistry(), Profiles: o.profiles}
	o.trust.register.inside(o.embedded)
	o.trust.certificates = o.transport.Files
	sync, err := o.listen(ctx, &cfg)
	if err != nil {
		return err
	}
	src, err := o.source(logger, &cfg)
	if err != nil {
		return err
	}
	hub := cloudhub.Config{
		Source: src, Cloud: src, Listener: sync, Credentials: insecure.NewCredentials(), Insecure: o.transport.Insecure,
		Software: version, Logger: logger, Metrics: cfg.Metrics, ProgressInterval: o.progress, MaxSessionAge: o.age,
		DrainTimeout: o.drain,
	}
	if o.sites {
		if err := o.follow(ctx, &hub, &cfg, src); err != nil {
			return err
		}
		o.trust.sites = hub.Sites
	} else {
		hub.Scopes = scopes
	}
	t, err := o.trust.build(tls, o.kubeconfig, logger, cfg.Metrics)
	if err != nil {
		return err
	}
	hub.Gate, hub.Enroll, hub.Audit = t.gate, t.server, t.lines
	if cfg.Hub, err = cloudhub.New(hub); err != nil {
		return err
	}
	logger.Info("serving edges", "addr", sync.Addr())
	g, ctx := errgroup.WithContext(ctx)
	if scopes != nil {
		g.Go(func() error { return scopes.Run(ctx) })
	}
	g.Go(func() error { return t.run(ctx) })
	g.Go(func() error { return cloud.Run(ctx, cfg) })
	return g.Wait()
}

// follow has EdgeSites say who may be here and have what. An embedded cloud is given their definitions.
func (o *runOptions) follow(ctx context.Context, hub *cloudhub.Config, cfg *cloud.Config, src cloud.Source) error {
	if cfg.Embedded != nil {
		if err := cloud.Define(ctx, src.Own(), crds.EdgeScopes, crds.EdgeSites); err != nil {
			return err
		}
	}
	hub.Name = o.name
	if hub.Name == "" {
		var err error
		if hub.Name, err = os.Hostname(); err != nil {
			return fmt.Errorf("--name: %w", err)
		}
	}
	hub.Sites, hub.WriteStatus = site.New(src, hub.Logger), site.Writer(src.Own())
	return nil
}

// gcPercent is how much garbage there may be beside what lives. Memory is what bounds the number of edges: half of Go's
// usual saves a quarter of it, for some percent of the processor.
const gcPercent = 50

// tuneGC sets gcPercent, unless the environment says what to do.
func tuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

func (o *runOptions) check() error {
	if o.embedded != "" && o.kubeconfig != "" {
		return errors.New("--embedded and --kubeconfig exclude each other")
	}
	if err := o.trust.check(); err != nil {
		return err
	}
	if o.window.MaxBytes <= 0 || o.window.MaxEvents <= 0 || o.progress <= 0 || o.age < 0 {
		return errors.New("--window-bytes, --window-events and --progress-interval must be more than 0, and --max-session-age not less")
	}
	if o.embedded == "" {
		return nil
	}
	return flags.LoopbackOnly("api-addr", o.api)
}

// listen opens the ports, all of them before anything starts.
func (o *runOptions) listen(ctx context.Context, cfg *cloud.Config) (sync net.Listener, err error) {
	if sync, err = run.Listen(ctx, "--sync-addr", o.sync); err != nil {
		return nil, err
	}
	if o.http != "" {
		if cfg.HTTP, err = run.Listen(ctx, "--http-addr", o.http); err != nil {
			return nil, err
		}
	}
	if o.embedded != "" {
		cfg.API, err = run.Listen(ctx, "--api-addr", o.api)
	}
	return sync, err
}

// source returns where the objects come from.
func (o *runOptions) source(logger *slog.Logger, cfg *cloud.Config) (cloud.Source, error) {
	if o.embedded != "" {
		if err := os.MkdirAll(o.embedded, 0o700); err != nil {
			return nil, fmt.Errorf("--embedded: %w", err)
		}
		c, err := embedded.Open(filepath.Join(o.embedded, "cloud.db"), embedded.Options{Window: o.window, Logger: logger})
		if err != nil {
			return nil, err
		}
		cfg.Embedded = c
		cfg.Handler, err = cloud.API(c, logger, cfg.Metrics)
		return cloud.Embedded(c, cfg.Handler, logger), err
	}
	rc, err := restConfig(o.kubeconfig)
	if err != nil {
		return nil, err
	}
	rc.UserAgent = "tombolo-cloudhub/" + version
	kube.LogTo(logger)
	return kube.New(kube.Config{REST: rc, Logger: logger, Window: o.window, Metrics: cfg.Metrics})
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		c, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("--kubeconfig: %w", err)
		}
		return c, nil
	}
	c, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("give --kubeconfig FILE or --embedded DIR")
	}
	return c, err
}
