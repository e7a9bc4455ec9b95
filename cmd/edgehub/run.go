package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/tombolo-sync/tombolo/cmd/internal/edge"
	"github.com/tombolo-sync/tombolo/cmd/internal/flags"
	"github.com/tombolo-sync/tombolo/edgehub"
	"github.com/tombolo-sync/tombolo/edgehub/store"
	"github.com/tombolo-sync/tombolo/internal/obs"
	"github.com/tombolo-sync/tombolo/internal/run"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// runOptions are the flags of edgehub run.
type runOptions struct {
	name, dataDir, serve, http string
	hubs                       []string
	window                     watchlog.Config
	onDemandExpiry             time.Duration
	reads                      flags.ConsistentReads
	serving                    flags.Serving
	encryption                 encryption
	transport                  flags.Transport
	log                        flags.Log
}

func runCommand() *cobra.Command {
	o := &runOptions{}
	c := &cobra.Command{
		Use: "run", Short: "Sync with a hub and serve the Kubernetes API", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context()) },
	}
	f := c.Flags()
	f.StringVar(&o.name, "name", "", "this edge's name; with TLS, the common name of its certificate (required, unless it has joined)")
	f.StringSliceVar(&o.hubs, "hub", nil, "hubs to connect to, HOST:PORT[,HOST:PORT…], tried in an order of chance (required, unless it has joined)")
	f.StringVar(&o.dataDir, "data-dir", "", "directory for everything that outlives the process (required)")
	f.StringVar(&o.serve, "serve", "127.0.0.1:10550", "address of the Kubernetes API")
	f.StringVar(&o.http, "http-addr", "127.0.0.1:10551", "address of /metrics, /healthz and /readyz; empty for none")
	f.Int64Var(&o.window.MaxBytes, "window-bytes", edgehub.DefaultWindow.MaxBytes, "how much history each resource keeps, in bytes")
	f.IntVar(&o.window.MaxEvents, "window-events", edgehub.DefaultWindow.MaxEvents, "how much history each resource keeps, in events")
	f.DurationVar(&o.onDemandExpiry, "on-demand-expiry", 24*time.Hour,
		"how long, in contact with a hub, a resource held on demand may go unused before it is let go; 0 for never letting go")
	o.reads.Add(c)
	o.serving.Add(c)
	o.encryption.add(c)
	o.transport.Add(c)
	o.log.Add(c)
	mustRequire(c, "data-dir")
	return c
}

func (o *runOptions) run(ctx context.Context) error {
	logger, err := o.log.Logger()
	if err != nil {
		return err
	}
	id, err := o.identify()
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	keys, err := o.encryption.keys()
	if err != nil {
		return err
	}
	kind, err := o.encryption.kind()
	if err != nil {
		return err
	}
	creds, err := o.credentials(id)
	if err != nil {
		return err
	}
	local, err := o.openLocal(ctx)
	if err != nil {
		return err
	}
	defer local.close() // the servers have, unless we never came to them
	ops, err := o.listenHTTP(ctx)
	if err != nil {
		return err
	}
	if o.transport.Insecure {
		logger.Warn("INSECURE: no TLS and no authentication towards the hub, for development only")
	}
	reg := obs.NewRegistry()
	agent, err := edgehub.New(edgehub.Config{
		Name: o.name, Hubs: o.shuffledHubs(), DataDir: o.dataDir, Credentials: creds, Identity: id, Window: o.window,
		Probe: o.probe, Keys: keys, Encryption: kind,
		OnDemandExpiry: o.onDemandExpiry, Software: version, Logger: logger, Metrics: reg,
	})
	if err != nil {
		return err
	}
	cfg := edge.Config{Agent: agent, HTTP: ops, LocalReads: o.reads.Local(), Logger: logger, Metrics: reg}
	if err := local.configure(&cfg, agent, o.kubeconfig()); err != nil {
		return err
	}
	logger.Info("serving", "edge", o.name, "api", local.url(), "resources", len(agent.Logs()))
	return edge.Run(ctx, cfg)
}

// shuffledHubs returns the hubs in an order of chance: edges that are given the same list spread over it.
func (o *runOptions) shuffledHubs() []string {
	hubs := slices.Clone(o.hubs)
	rand.Shuffle(len(hubs), func(i, j int) { hubs[i], hubs[j] = hubs[j], hubs[i] }) //nolint:gosec // spreads load, keeps no secret
	return hubs
}

func (o *runOptions) check() error {
	if o.window.MaxBytes <= 0 || o.window.MaxEvents <= 0 {
		return errors.New("--window-bytes and --window-events must be more than 0")
	}
	if o.onDemandExpiry < 0 {
		return errors.New("--on-demand-expiry must not be negative")
	}
	if len(validation.IsDNS1123Subdomain(o.name)) > 0 {
		return fmt.Errorf("--name %q: lower-case letters, digits, - and . are needed", o.name)
	}
	for _, h := range o.hubs {
		if _, _, err := net.SplitHostPort(h); err != nil {
			return fmt.Errorf("--hub %q: %w", h, err)
		}
	}
	if err := o.reads.Validate(); err != nil {
		return err
	}
	return o.serving.Validate(o.serve)
}

func (o *runOptions) listenHTTP(ctx context.Context) (net.Listener, error) {
	if o.http == "" {
		return nil, nil
	}
	return run.Listen(ctx, "--http-addr", o.http)
}

// exitCorrupt is the exit code of edgehub check for a file that is damaged.
const exitCorrupt = 3

// probe checks a suspect file in a process of its own, because damage can make bbolt panic where nothing can recover.
func (o *runOptions) probe(path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"check", "--data-dir", filepath.Dir(path)}
	if o.encryption.path != "" {
		args = append(args, "--encryption-key-file", o.encryption.path)
	}
	out, err := exec.Command(self, args...).CombinedOutput() //nolint:gosec,noctx // ourselves, and it ends
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == exitCorrupt || exit.ExitCode() == 2) { // 2: a Go panic
		return fmt.Errorf("%w: %.500s", store.ErrCorrupt, out)
	}
	return err
}
