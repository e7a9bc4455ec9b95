package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/discovery"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Options are what Open needs beside a path. The zero value is usable.
type Options struct {
	// Window bounds how far back each resource can be watched from. It does not outlive the process: after a restart
	// watches begin at the revision of the restart.
	Window watchlog.Config
	// EventTTL is how long an Event is kept after its last change, in either encoding. 0 means an hour, as in a cluster.
	EventTTL time.Duration
	// Logger gets what goes wrong beside requests. nil discards.
	Logger *slog.Logger
}

// Cloud is an open file. All methods may be called by any number of goroutines.
type Cloud struct {
	file   *file
	logger *slog.Logger
	window watchlog.Config
	docs   *apidoc.Set
	epoch  string // set by Open

	turn    sync.Mutex // held by the writer whose turn it is
	rev     uint64     // of the last change on disk; guarded by turn
	pending queue      // writes that wait for their turn

	// publishing is held while changes become visible.
	publishing sync.Mutex
	// visible is the revision that all logs are at, except while publishing is held. It moves under publishing.
	visible atomic.Uint64
	ages    ages // of Events
	// resources is replaced under turn.
	resources atomic.Pointer[registry]
}

// Open opens the cloud in the file at path and makes a new one, with the four namespaces of a fresh cluster, if there is
// none. It fails with ErrLocked, ErrNewerFormat, or what is wrong with the file.
func Open(path string, o Options) (*Cloud, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	c := &Cloud{file: f, logger: o.Logger, window: o.Window, docs: apidoc.NewSet(), ages: ages{ttl: o.EventTTL}}
	if c.ages.ttl == 0 {
		c.ages.ttl = time.Hour
	}
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	if err := c.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("load %s: %w", path, err), f.close())
	}
	return c, nil
}

// firstRev is the revision of an empty cloud, as of an empty etcd.
const firstRev = 1

func (c *Cloud) load() error {
	rev, epoch, err := c.file.state()
	if err != nil {
		return err
	}
	c.rev, c.epoch = max(rev, firstRev), epoch
	c.visible.Store(c.rev)
	var builtins []*resource
	for _, k := range catalog.Builtins() {
		r := newResource(k, c.window)
		if err := c.loadResource(r); err != nil {
			return err
		}
		builtins = append(builtins, r)
	}
	c.resources.Store(newRegistry(builtins))
	if err := errors.Join(c.redefine(), c.loadAges()); err != nil {
		return err
	}
	return c.bootstrap()
}

// loadResource reads the objects of a resource from the file.
func (c *Cloud) loadResource(r *resource) error {
	l := newLoader(r)
	if err := c.file.load(r.name, l.add); err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	return l.load(c.rev)
}

// Run deletes Events that have grown old, until ctx ends.
func (c *Cloud) Run(ctx context.Context) error {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if err := c.expire(now); err != nil {
				c.logger.Error("old events not deleted", "error", err)
			}
		}
	}
}

// Close ends all logs and closes the file. Writes that come later fail.
func (c *Cloud) Close() error {
	c.turn.Lock()
	defer c.turn.Unlock()
	for _, r := range c.resources.Load().all {
		r.close(source.ErrStopped)
	}
	return c.file.close()
}

// Epoch returns the identity of the cloud: the uid of its namespace kube-system, as of a cluster.
func (c *Cloud) Epoch() string { return c.epoch }

// Ready tells that there is nothing to wait for.
func (*Cloud) Ready() error { return nil }

// Rev returns the revision of the last change.
func (c *Cloud) Rev() uint64 { return c.visible.Load() }

// Documents returns the discovery and OpenAPI documents. They follow the CustomResourceDefinitions.
func (c *Cloud) Documents() *apidoc.Set { return c.docs }

// Log returns the log of a resource in one of its served versions, at the revision of the last change. It fails with
// source.ErrUnknownResource. The log is closed with source.ErrRedefined or source.ErrUnknownResource when its
// CustomResourceDefinition changes or goes.
func (c *Cloud) Log(gvr schema.GroupVersionResource) (*watchlog.Log, error) {
	f, ok := c.settled().byGVR[gvr]
	if !ok {
		return nil, fmt.Errorf("%s: %w", gvr.GroupResource(), source.ErrUnknownResource)
	}
	return f.log(), nil
}

// Open returns the log of a resource in its preferred version, and a function that gives it back. Otherwise like Log.
func (c *Cloud) Open(_ context.Context, gr schema.GroupResource) (*watchlog.Log, func(), error) {
	f, ok := c.settled().byGR[gr]
	if !ok {
		return nil, nil, fmt.Errorf("open %s: %w", gr, source.ErrUnknownResource)
	}
	return f.log(), func() {}, nil
}

// Held is Open for who does not want to wait. The logs of all resources are ready.
func (c *Cloud) Held(gr schema.GroupResource) (*watchlog.Log, func(), bool) {
	log, release, err := c.Open(context.Background(), gr)
	return log, release, err == nil
}

// settled waits while changes become visible, log by log, and returns the resources: who saw one of the changes in one
// log finds all of them in the others.
func (c *Cloud) settled() *registry {
	c.publishing.Lock()
	defer c.publishing.Unlock()
	return c.resources.Load()
}

// describe writes the documents about what is served now.
func (c *Cloud) describe() {
	c.docs.Replace(discovery.Documents(c.resources.Load().kinds()))
}
