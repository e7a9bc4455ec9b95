// Package edgehub is the edge's side: a store, a session with a hub, and the logs that are served from. Agent wires them.
package edgehub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/credentials"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/edgehub/call"
	identity "github.com/tombolo-sync/tombolo/edgehub/credentials"
	"github.com/tombolo-sync/tombolo/edgehub/session"
	"github.com/tombolo-sync/tombolo/edgehub/store"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Config is what an Agent needs. Name, Hubs, DataDir and either Credentials or Identity are required.
type Config struct {
	Name        string   // the edge's name, as its certificate says
	Hubs        []string // host:port, tried in turn
	DataDir     string   // owned by the agent while it runs
	Credentials credentials.TransportCredentials
	// Identity, if any, is what the edge proves itself with, and keeps current.
	Identity *identity.Identity
	// Window bounds how far back each resource can be watched from. The zero value means 8 MiB and 20,000 events.
	Window watchlog.Config
	// Keys and Encryption say what is encrypted in the data directory: see store.Options.
	Keys       *store.Keys
	Encryption store.Encryption
	// Probe checks a suspect file before it is opened, in another process: see store.Options.
	Probe    func(path string) error
	Software string // version, told to the hub
	Logger   *slog.Logger
	Metrics  prometheus.Registerer

	// OnDemandExpiry is how long a resource that is held on demand may go unused: see session.Config.
	OnDemandExpiry time.Duration

	// MinBackoff and MaxBackoff bound the wait between two attempts to reach a hub: see session.Config.
	MinBackoff, MaxBackoff time.Duration
}

// Agent is a running edge. What it serves from is there as soon as New returns.
type Agent struct {
	store  *store.Store
	client *session.Client
	calls  *call.Client
	log    *slog.Logger

	id      *identity.Identity // nil: others see to the edge's certificate, as keeper
	keeper  *identity.Keeper
	rotated chan struct{} // has room for one signal: there is another certificate
}

// DefaultWindow is an edge's window for each resource, when none is given.
var DefaultWindow = watchlog.Config{MaxBytes: 8 << 20, MaxEvents: 100_000}

// New opens the data directory. Errors: those of store.Open, and a required part of the configuration is missing.
func New(cfg Config) (*Agent, error) {
	if cfg.DataDir == "" {
		return nil, errors.New("edgehub: a data directory is required")
	}
	if cfg.Window == (watchlog.Config{}) {
		cfg.Window = DefaultWindow
	}
	if cfg.Identity != nil {
		cfg.Credentials = cfg.Identity.Transport()
	}
	st, err := store.Open(cfg.DataDir, store.Options{Window: cfg.Window, Logger: cfg.Logger, Probe: cfg.Probe, Keys: cfg.Keys, Encryption: cfg.Encryption})
	if err != nil {
		return nil, err
	}
	client, err := session.New(session.Config{
		Edge: cfg.Name, Hubs: cfg.Hubs, Credentials: cfg.Credentials, Store: st, Window: cfg.Window,
		Software: cfg.Software, Logger: cfg.Logger, Metrics: cfg.Metrics,
		OnDemandExpiry: cfg.OnDemandExpiry, MinBackoff: cfg.MinBackoff, MaxBackoff: cfg.MaxBackoff,
	})
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	calls, err := call.New(call.Config{Edge: cfg.Name, Link: client, Logger: cfg.Logger, Metrics: cfg.Metrics})
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	a := &Agent{store: st, client: client, calls: calls, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))}
	if err := a.keep(&cfg); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return a, nil
}

// keep has the edge's certificate kept current, if it is the agent's to do so.
func (a *Agent) keep(cfg *Config) (err error) {
	if cfg.Identity == nil {
		return nil
	}
	a.id, a.rotated = cfg.Identity, make(chan struct{}, 1)
	a.keeper, err = identity.NewKeeper(identity.Config{
		Identity: cfg.Identity, Hubs: cfg.Hubs, Link: a.client.Conn, Logger: cfg.Logger, Metrics: cfg.Metrics,
		Rotated: func() {
			select {
			case a.rotated <- struct{}{}:
			default: // a signal is waiting already
			}
		},
	})
	return err
}

// Calls answers requests from the cloud, through the hub, while there is a way to it.
func (a *Agent) Calls() *call.Client { return a.calls }

// Run keeps in step with a hub until ctx ends, and then closes the data directory. It is called once.
func (a *Agent) Run(ctx context.Context) error {
	err := a.sync(ctx)
	if cerr := a.store.Close(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("close the data directory: %w", cerr))
	}
	return err
}

// Renew has the agent go over to other credentials without a gap: see session.Client.
func (a *Agent) Renew(ctx context.Context, creds credentials.TransportCredentials) error {
	return a.client.Renew(ctx, creds)
}

// sync keeps in step with a hub, and the edge's certificate current.
func (a *Agent) sync(ctx context.Context) error {
	if a.keeper == nil {
		return a.client.Run(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	defer keeping.Wait()
	defer cancel()
	keeping.Go(func() { a.keeper.Run(ctx) })
	<-a.keeper.Settled()
	keeping.Go(func() { a.goOver(ctx) })
	return a.client.Run(ctx)
}

// goOver has the session go over to each certificate that the edge takes into use.
func (a *Agent) goOver(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.rotated:
		}
		if err := a.client.Renew(ctx, a.id.Transport()); err != nil && ctx.Err() == nil {
			a.log.Error("no session with the new certificate, the one before goes on as long as it can", "err", err)
		}
	}
}

// Log returns the log of a resource, apidoc.ErrUnknownResource when the edge does not hold it.
func (a *Agent) Log(gvr schema.GroupVersionResource) (*watchlog.Log, error) { return a.client.Log(gvr) }

// Demand returns the log of a resource that the edge does not hold yet, once it is ready: see session.Client.
func (a *Agent) Demand(ctx context.Context, gvr schema.GroupVersionResource) (*watchlog.Log, error) {
	return a.client.Demand(ctx, gvr)
}

// Documents are the cloud's API documents.
func (a *Agent) Documents() *apidoc.Set { return a.client.Documents() }

// Contact tells whether the edge follows the cloud at this moment, and when it last heard of a hub.
func (a *Agent) Contact() (live bool, last time.Time) { return a.client.Contact() }

// Ready tells why the edge can't serve yet, nil when it can.
func (a *Agent) Ready() error { return a.client.Ready() }

// Logs returns the logs that the edge serves from.
func (a *Agent) Logs() []*watchlog.Log { return a.client.Logs() }

// BytesReceived returns how many bytes came from hubs since the start.
func (a *Agent) BytesReceived() int64 { return a.client.BytesReceived() }

// Prove asks the hub for a proof that a part of a resource is no older than the call: see session.Client.
func (a *Agent) Prove(ctx context.Context, gvr schema.GroupVersionResource, p session.Part, minRev uint64) (uint64, error) {
	return a.client.Prove(ctx, gvr, p, minRev)
}
