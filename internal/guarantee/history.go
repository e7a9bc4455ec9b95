package guarantee

import (
	"context"
	"sync"
)

// History collects what happened in a run. All methods may be called at the same time.
// Resources are named by any string that writers and readers agree on.
type History struct {
	mu       sync.Mutex // guards everything below
	seq      uint64     // stamps of what was recorded: the order all parts agree on
	readers  []*Reader
	writes   map[string][]write       // by resource, as acknowledged
	present  map[string]*presentState // by resource: the newest state known
	bodies   map[string]string        // one copy of equal bodies
	servers  map[string][]mark        // by server, in seq order
	gauges   []Gauge
	restores []restore // in seq order
	untold   []string  // found by Check
	settled  bool
	head     uint64 // set by Settle; 0 = unknown

	waiters int           // who waits on changed
	changed chan struct{} // closed and renewed when something is recorded and somebody waits
}

// Gauge is a measured quantity with a limit, of whatever unit Name says.
type Gauge struct {
	Server, Name string
	Value, Limit float64
}

// write is an acknowledged write.
type write struct {
	obj     Object // a deletion: RV 0 when the answer didn't tell
	deleted bool
	server  string // who acknowledged it
	seq     uint64
}

type markKind uint8

const (
	restarted markKind = iota
	offline
	online
)

// mark is something that happened to a server.
type mark struct {
	kind markKind
	seq  uint64
}

// NewHistory returns an empty history.
func NewHistory() *History {
	return &History{
		writes:  map[string][]write{},
		present: map[string]*presentState{},
		bodies:  map[string]string{},
		servers: map[string][]mark{},
		changed: make(chan struct{}),
	}
}

// Wrote records that a server acknowledged a create or update with the object as it is now. A
// write that changed nothing (same resourceVersion) may be recorded as well.
func (h *History) Wrote(server, resource string, o Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.Body = h.internLocked(o.Body)
	h.presentLocked(resource).put(o)
	h.recordedLocked()
	h.writes[resource] = append(h.writes[resource], write{obj: o, server: server, seq: h.seq})
}

// Removed records that a server acknowledged the deletion of an object; rv is 0 when the
// answer didn't tell the resourceVersion of the deletion.
func (h *History) Removed(server, resource, key, uid string, rv uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.presentLocked(resource).remove(key, uid)
	h.recordedLocked()
	h.writes[resource] = append(h.writes[resource], write{obj: Object{Key: key, UID: uid, RV: rv}, deleted: true, server: server, seq: h.seq})
}

// Restarted records that a server was stopped and comes back. Call it after it stopped and
// before it serves again.
func (h *History) Restarted(server string) { h.mark(server, restarted) }

// Offline records that from now on the server knows that it has lost the cloud, so that
// its lists have to say so, until [History.Online].
func (h *History) Offline(server string) { h.mark(server, offline) }

// Online ends what [History.Offline] began. Call it before the link heals.
func (h *History) Online(server string) { h.mark(server, online) }

func (h *History) mark(server string, k markKind) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recordedLocked()
	h.servers[server] = append(h.servers[server], mark{kind: k, seq: h.seq})
}

// Measured records a quantity that has a limit.
func (h *History) Measured(g Gauge) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gauges = append(h.gauges, g)
	h.recordedLocked()
}

// Settle says that the run is over: writers stopped, links are healed, and every reader
// that hasn't left had the time to catch up, so that [History.Check] may demand the final
// state of each. head is a revision of the cloud read after the last reader was done, so
// that no position beyond it can be genuine; 0 when it is unknown.
func (h *History) Settle(head uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settled, h.head = true, head
	h.recordedLocked()
}

// recordedLocked stamps what is being recorded and wakes who waits for it.
func (h *History) recordedLocked() {
	h.seq++
	if h.waiters > 0 {
		close(h.changed)
		h.changed = make(chan struct{})
	}
}

// stamp gives a point in the order of the history, for a request about to be sent.
func (h *History) stamp() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	return h.seq
}

func (h *History) internLocked(body string) string {
	if known, ok := h.bodies[body]; ok {
		return known
	}
	h.bodies[body] = body
	return body
}

func (h *History) presentLocked(resource string) *presentState {
	p := h.present[resource]
	if p == nil {
		p = newPresentState()
		h.present[resource] = p
	}
	return p
}

// waitLocked waits until done tells true, which it asks under the lock after each thing recorded.
func (h *History) waitLocked(ctx context.Context, done func() bool) error {
	h.waiters++
	defer func() { h.waiters-- }()
	for !done() {
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		h.mu.Lock()
		if ctx.Err() != nil && !done() {
			return ctx.Err()
		}
	}
	return nil
}
