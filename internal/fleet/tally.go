package fleet

import (
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// tally counts what happens to all edges.
type tally struct {
	wireIn, wireOut   atomic.Int64 // bytes of connections
	bytesIn, bytesOut atomic.Int64 // bytes of messages
	connected, live   atomic.Int64 // edges that have a session; that have caught up
	stuck             atomic.Int64 // edges that have stopped reading
	sessions, ended   atomic.Int64
	operations        atomic.Int64
	updates           atomic.Int64 // operations that came live
	checkpoints       atomic.Int64
	mismatches        atomic.Int64
	inventories       atomic.Int64
	rewinds           atomic.Int64
	patches, misses   atomic.Int64
	plans             [8]atomic.Int64 // by tombolov1.Plan
	latency           histogram       // of marked objects that came live, in nanoseconds
	updateSize        histogram       // bytes of messages of one live operation

	mu       sync.Mutex
	failures map[string]int64 // attempts and sessions that ended, by gRPC code; guarded by mu
}

func (t *tally) opened() {
	t.sessions.Add(1)
	t.connected.Add(1)
}

func (t *tally) closed() {
	t.ended.Add(1)
	t.connected.Add(-1)
}

func (t *tally) caughtUp(live bool) {
	if live {
		t.live.Add(1)
	} else {
		t.live.Add(-1)
	}
}

func (t *tally) plan(p tombolov1.Plan) {
	if int(p) < len(t.plans) {
		t.plans[p].Add(1)
	}
}

// failed counts an attempt or a session that has ended with err.
func (t *tally) failed(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failures == nil {
		t.failures = map[string]int64{}
	}
	t.failures[status.Code(err).String()]++
}

// arrived counts changes that came live in a message of so many bytes.
func (t *tally) arrived(changes []change, now int64, size int) {
	n := int64(len(changes))
	if n == 0 {
		return
	}
	t.updates.Add(n)
	t.updateSize.add(int64(size)/n, n)
	for _, c := range changes {
		if c.to != nil && c.to.written != 0 {
			t.latency.add(now-c.to.written, 1)
		}
	}
}

// Stats is what has happened since the start, or since Reset for latencies and sizes of updates.
type Stats struct {
	Edges       int   `json:"edges"`
	Connected   int64 `json:"connected"`
	Live        int64 `json:"live"` // have caught up
	Stuck       int64 `json:"stuck"`
	Sessions    int64 `json:"sessions"`
	Ended       int64 `json:"ended"` // sessions
	WireIn      int64 `json:"wireBytesIn"`
	WireOut     int64 `json:"wireBytesOut"`
	BytesIn     int64 `json:"messageBytesIn"`
	BytesOut    int64 `json:"messageBytesOut"`
	Operations  int64 `json:"operations"`
	Updates     int64 `json:"liveUpdates"`
	Checkpoints int64 `json:"checkpoints"`
	Mismatches  int64 `json:"mismatches"`
	Inventories int64 `json:"inventories"`
	Rewinds     int64 `json:"rewinds"`  // resources that went back with a restored cloud
	Patches     int64 `json:"patches"`  // operations that came as patches
	Misses      int64 `json:"misses"`   // patches that did not apply
	Versions    int   `json:"versions"` // different ones that are held

	Plans    map[string]int64 `json:"plans"`
	Failures map[string]int64 `json:"failures,omitempty"` // by gRPC code

	Latency    Quantiles[time.Duration] `json:"latencyNanoseconds"`
	UpdateSize Quantiles[int64]         `json:"updateBytes"`
}

// Quantiles tell how values are spread.
type Quantiles[T ~int64] struct {
	Count int64 `json:"count"`
	Mean  T     `json:"mean"`
	P50   T     `json:"p50"`
	P99   T     `json:"p99"`
	Max   T     `json:"max"`
}

func quantiles[T ~int64](h *histogram) Quantiles[T] {
	return Quantiles[T]{
		Count: h.total.Load(), Mean: T(h.mean()), P50: T(h.quantile(.5)), P99: T(h.quantile(.99)), Max: T(h.most.Load()),
	}
}

// Stats returns what has happened so far.
func (f *Fleet) Stats() Stats {
	t := &f.stats
	s := Stats{
		Edges: len(f.edges), Connected: t.connected.Load(), Live: t.live.Load(), Stuck: t.stuck.Load(),
		Sessions: t.sessions.Load(), Ended: t.ended.Load(),
		WireIn: t.wireIn.Load(), WireOut: t.wireOut.Load(), BytesIn: t.bytesIn.Load(), BytesOut: t.bytesOut.Load(),
		Operations: t.operations.Load(), Updates: t.updates.Load(), Checkpoints: t.checkpoints.Load(),
		Mismatches: t.mismatches.Load(), Inventories: t.inventories.Load(), Rewinds: t.rewinds.Load(),
		Patches: t.patches.Load(), Misses: t.misses.Load(), Versions: f.pool.size(),
		Plans: map[string]int64{}, Failures: map[string]int64{},
		Latency: quantiles[time.Duration](&t.latency), UpdateSize: quantiles[int64](&t.updateSize),
	}
	for p := range t.plans {
		if n := t.plans[p].Load(); n > 0 {
			s.Plans[tombolov1.Plan(p).String()] = n //nolint:gosec // 8 at most
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for code, n := range t.failures {
		s.Failures[code] = n
	}
	return s
}

// Reset begins the latencies and sizes of updates anew.
func (f *Fleet) Reset() {
	f.stats.latency.reset()
	f.stats.updateSize.reset()
}
