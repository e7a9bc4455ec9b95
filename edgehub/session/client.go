package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/edgehub/demand"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/round"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Version is the protocol version that the edge speaks.
const Version = 1

// Client keeps the edge's logs in step with a hub. What it serves from is there as soon as New returns.
type Client struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
	docs    *apidoc.Set
	wishes  *demand.Book // what is held on demand
	// arrivals are documents that are durable and wait for others of their part. It belongs to Run.
	arrivals map[documentKey]apidoc.Document

	mu       sync.RWMutex                                  // guards the map; the replicas belong to Run
	replicas map[schema.GroupResource]*replica             // what the edge holds
	logs     map[schema.GroupVersionResource]*watchlog.Log // the same for readers
	// awaited are the resources of the scope, as a hub has named it, that have no first state yet although the hub can
	// get them. Guarded by mu.
	awaited map[schema.GroupResource]struct{}
	// loading is how far catch-ups under way have come. Guarded by mu.
	loading map[schema.GroupResource]loading
	// scoped is set once a hub has named the scope. Guarded by mu.
	scoped bool
	trust  *trust // in hubs' patches and frames. It belongs to Run, but for what it says of itself
	// foreign are the positions at which resources of another cluster were dropped. It belongs to Run.
	foreign map[schema.GroupResource]uint64

	desk         atomic.Pointer[desk]                       // of the session that is open, nil for none
	proofs       atomic.Pointer[round.Table[claim, uint64]] // nil before Run
	questionPace *rate.Limiter

	heard   atomic.Int64 // when a message last came from a hub, in Unix nanoseconds; 0 never. For people and the store
	made    time.Time    // when the client was
	message atomic.Int64 // when a message last came, as an instant
	read    atomic.Int64 // when a byte last came, likewise
	linked  atomic.Bool  // a session is open
	// conn is what it is open on, for calls beside it; nil when there is none.
	conn    atomic.Pointer[grpc.ClientConn]
	lines   lines
	keys    keys         // that connections are opened with
	current atomic.Bool  // everything is caught up
	bytes   atomic.Int64 // bytes that came from hubs, as they were on the wire
}

// infoHeard is the name under which the store keeps when a hub was last heard of.
const infoHeard = "last-contact"

// New returns a client whose logs hold what is in the store. Errors: a required part of the configuration is missing, or
// the store can't be read.
func New(cfg Config) (*Client, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	c := &Client{
		cfg: cfg, log: cfg.Logger, made: time.Now(), docs: apidoc.NewSet(), arrivals: map[documentKey]apidoc.Document{},
		wishes: demand.New(cfg.OnDemandExpiry),
		trust:  &trust{}, questionPace: rate.NewLimiter(questionRate, questionBurst),
		replicas: map[schema.GroupResource]*replica{}, logs: map[schema.GroupVersionResource]*watchlog.Log{},
		awaited: map[schema.GroupResource]struct{}{}, foreign: map[schema.GroupResource]uint64{},
		loading: map[schema.GroupResource]loading{},
	}
	c.keys = newKeys(cfg.Credentials)
	c.metrics = newMetrics(cfg.Metrics, c)
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("load what the edge holds: %w", err)
	}
	return c, nil
}

// load restores everything from the store.
func (c *Client) load() error {
	docs, err := c.cfg.Store.Documents()
	if err != nil {
		return err
	}
	c.docs.Replace(docs)
	arrivals, err := c.cfg.Store.Arrivals()
	if err != nil {
		return err
	}
	for _, d := range arrivals {
		c.arrivals[keyOf(d)] = d
	}
	if err := c.loadHeard(); err != nil {
		return err
	}
	if err := c.loadWishes(); err != nil {
		return err
	}
	states, err := c.cfg.Store.Resources()
	if err != nil {
		return err
	}
	for _, st := range states {
		r, err := c.restore(st)
		if err != nil {
			return fmt.Errorf("%s: %w", st.Resource.GroupResource(), err)
		}
		c.register(r)
	}
	return nil
}

// loadHeard restores when a hub was last heard of.
func (c *Client) loadHeard() error {
	heard, err := c.cfg.Store.Info(infoHeard)
	if err != nil || heard == "" {
		return err
	}
	at, err := time.Parse(time.RFC3339Nano, heard)
	if err != nil {
		return fmt.Errorf("time of the last contact: %w", err)
	}
	c.heard.Store(at.UnixNano())
	return nil
}

// register makes a replica's log the one that readers of the resource get.
func (c *Client) register(r *replica) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgetLocked(r.gr)
	c.replicas[r.gr] = r
	c.logs[r.log.Resource().GroupVersionResource()] = r.log
}

// forget takes a resource away from readers.
func (c *Client) forget(gr schema.GroupResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgetLocked(gr)
}

func (c *Client) forgetLocked(gr schema.GroupResource) {
	if old := c.replicas[gr]; old != nil {
		delete(c.logs, old.log.Resource().GroupVersionResource())
		delete(c.replicas, gr)
	}
}

// Log returns the log of a resource, apidoc.ErrUnknownResource when the edge does not hold it in that version, or when it
// is to be had on demand and not there yet: see Demand. What is held on demand counts as used then.
func (c *Client) Log(gvr schema.GroupVersionResource) (*watchlog.Log, error) {
	c.mu.RLock()
	l := c.logs[gvr]
	c.mu.RUnlock()
	if l != nil && !c.isComing(l) {
		c.wishes.Touch(gvr.GroupResource())
		return l, nil
	}
	return nil, fmt.Errorf("%w: %s", apidoc.ErrUnknownResource, gvr)
}

// Documents are the cloud's API documents.
func (c *Client) Documents() *apidoc.Set { return c.docs }

// Contact tells whether the edge follows the cloud at this moment, and when it last heard of a hub (zero: never).
func (c *Client) Contact() (live bool, last time.Time) {
	return c.linked.Load() && c.current.Load(), c.lastHeard()
}

// lastHeard returns when a hub was last heard of, zero for never.
func (c *Client) lastHeard() time.Time {
	if at := c.heard.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// Ready tells why the edge can't serve yet, and how far it is: nil once there are API documents and every resource has a first state that the
// edge is to have in any case.
func (c *Client) Ready() error {
	if c.docs.Hash() == "" {
		return errors.New("no hub was reached yet")
	}
	return c.unready()
}

// await notes which resources of a scope have no first state yet.
func (c *Client) await(scope []schema.GroupResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scoped = true
	clear(c.awaited)
	for _, gr := range scope {
		if c.wishes.Has(gr) {
			continue
		}
		if r := c.replicas[gr]; r == nil || !r.log.IsReady() {
			c.awaited[gr] = struct{}{}
		}
	}
}

// settle notes that a resource has a first state, or will have none for now.
func (c *Client) settle(gr schema.GroupResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.awaited, gr)
}

// Conn returns the connection that a session is open on, nil when there is none.
func (c *Client) Conn() grpc.ClientConnInterface {
	if conn := c.conn.Load(); conn != nil {
		return conn
	}
	return nil
}

// Logs returns the logs that the edge serves from, in the order of their resources' names.
func (c *Client) Logs() []*watchlog.Log {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]*watchlog.Log, 0, len(c.logs))
	for _, l := range c.logs {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b *watchlog.Log) int {
		return compareResources(a.Resource().GroupResource(), b.Resource().GroupResource())
	})
	return out
}

// BytesReceived returns how many bytes came from hubs since the start, as they were on the wire.
func (c *Client) BytesReceived() int64 { return c.bytes.Load() }

// Run stays connected to a hub, whichever one can be reached, until ctx ends; then it returns nil. It fails only with
// ErrRefused. A session that is to be left is left for another one that is open already: see session.seek.
func (c *Client) Run(ctx context.Context) error {
	wait := backoff{minimum: c.cfg.MinBackoff, maximum: c.cfg.MaxBackoff}
	defer c.closeLogs()
	defer c.lines.open(ctx)()
	defer c.openProofs(ctx)()
	var said complaints
	var refused refusals
	for turn := 0; ; turn++ {
		hub := c.cfg.Hubs[turn%len(c.cfg.Hubs)]
		progressed, retry, err := c.connect(ctx, hub)
		if ctx.Err() != nil {
			return nil
		}
		if err := refused.note(c, hub, err); err != nil {
			return err
		}
		if progressed {
			wait.reset() // a session that came to nothing would come to nothing again
		}
		d := wait.next()
		if len(c.cfg.Hubs) == 1 || turn%len(c.cfg.Hubs) == len(c.cfg.Hubs)-1 {
			d = max(d, retry)
		} else if !progressed {
			d = min(d, c.cfg.MinBackoff) // another hub may be there at once
		}
		level := slog.LevelDebug
		if said.due(hub, err, progressed, time.Now()) {
			level = slog.LevelWarn
		}
		c.log.Log(ctx, level, "no session", "hub", hub, "err", err, "retry", d.Round(time.Millisecond))
		if !sleep(ctx, d) {
			return nil
		}
	}
}

func (c *Client) closeLogs() {
	for _, l := range c.Logs() {
		l.Close(nil)
	}
}
