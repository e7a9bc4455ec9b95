package watchlog

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Config bounds the window of a log: how far back it can be watched from. The newest state is always kept whole.
type Config struct {
	// MaxBytes bounds the bytes that only the window keeps alive: previous versions, those of older events packed, and
	// bookkeeping. 0 means 64 MiB, which reaches back some 500,000 heartbeats, whatever the size of the objects.
	MaxBytes int64
	// MaxEvents bounds the number of events. 0 means 1,000,000.
	MaxEvents int
}

func (c Config) withDefaults() Config {
	if c.MaxBytes == 0 {
		c.MaxBytes = 64 << 20
	}
	if c.MaxEvents == 0 {
		c.MaxEvents = 1_000_000
	}
	return c
}

// Log is the current state of one resource and the window of events that led to it.
type Log struct {
	res   *Resource
	dec   *Decoder
	cfg   Config
	hot   heat          // of cfg
	ready chan struct{} // closed once the first state is in
	done  chan struct{} // closed by Close

	// cur is the newest state. It is replaced only under mu; reading it takes no lock.
	cur atomic.Pointer[state]

	// lost is when the source lost sight of the cloud, in Unix nanoseconds; 0 while it follows, neverFollowed when it is
	// not known that it ever did.
	lost atomic.Int64

	packers  sync.WaitGroup // the goroutine that packs events, while there is one; Close waits for it
	rebuilds sync.Mutex     // held by who rebuilds a state from packed events: one at a time

	mu        sync.RWMutex // guards all below
	win       window
	interests map[Term]*interest // the terms that readers wait for; none without a reader
	kinds     [termKinds]int     // how many interests there are of each kind
	commits   uint64             // how many batches were posted to interests
	moved     chan struct{}      // closed when the position moves; nil while nobody waits
	foreign   uint64             // positions up to here, where ahead of the log, may stem from another history
	packing   bool               // a packer runs, and has not found yet that there is nothing to pack
	err       error              // why the log was closed
}

// New returns an empty log. It becomes Ready with Load or the first Commit.
func New(r *Resource, c Config) *Log {
	l := &Log{
		res: r, dec: NewDecoder(r), cfg: c.withDefaults(),
		ready: make(chan struct{}), done: make(chan struct{}), interests: map[Term]*interest{},
	}
	l.hot = l.cfg.heat()
	l.cur.Store(&state{})
	return l
}

// Resource returns what the log holds.
func (l *Log) Resource() *Resource { return l.res }

// Decoder returns the decoder for the log's objects.
func (l *Log) Decoder() *Decoder { return l.dec }

// Ready is closed when the first state is in. A log that is closed before never becomes ready.
func (l *Log) Ready() <-chan struct{} { return l.ready }

// Done is closed when the log is.
func (l *Log) Done() <-chan struct{} { return l.done }

// IsReady tells whether the first state is in.
func (l *Log) IsReady() bool { return l.cur.Load().rev != 0 }

// Rev returns the position: everything up to it is in the log. 0 means not Ready.
func (l *Log) Rev() uint64 { return l.cur.Load().rev }

// Snapshot returns the newest state.
func (l *Log) Snapshot() Snapshot { return Snapshot{l, l.cur.Load()} }

// Oldest returns the smallest position that can be watched from.
func (l *Log) Oldest() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.win.floor
}

// Reaches returns the error that SnapshotAt would fail with, nil when it has the state at rev.
func (l *Log) Reaches(rev uint64) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	switch cur := l.Rev(); {
	case rev > cur:
		return fmt.Errorf("%w: %d, the log is at %d", ErrFuture, rev, cur)
	case rev == cur:
		return nil
	default:
		return l.win.check(rev)
	}
}

// Content is what a log is restored from.
type Content struct {
	Objects []*Object
	Rev     uint64   // the position
	Floor   uint64   // the smallest position that can be watched from; Rev when there is no history
	History []*Event // the events behind Floor, oldest first
	Gaps    []Gap    // the gaps among them, ascending
}

// SetForeign says that clients may hold positions up to rev that stem from another history than the log's: the cluster
// was replaced by another one. Ahead of the log such a position is compacted, not the future.
func (l *Log) SetForeign(rev uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.foreign = rev
}

const neverFollowed = -1

// SetLost says that the source of the log has lost sight of the cloud, so that the log may be behind since then; the zero
// time when it is not known that it ever was not. What was said before stays until SetFollowing. Readers are woken.
func (l *Log) SetLost(since time.Time) {
	at := int64(neverFollowed)
	if !since.IsZero() {
		at = since.UnixNano()
	}
	if l.lost.CompareAndSwap(0, at) {
		l.wakeAll()
	}
}

// SetFollowing says that the source of the log follows the cloud, as that of a new log does. Readers are woken.
func (l *Log) SetFollowing() {
	if l.lost.Swap(0) != 0 {
		l.wakeAll()
	}
}

// Lost tells whether the source of the log has lost sight of the cloud, and when: the zero time when it is not known.
func (l *Log) Lost() (since time.Time, lost bool) {
	switch at := l.lost.Load(); at {
	case 0:
		return time.Time{}, false
	case neverFollowed:
		return time.Time{}, true
	default:
		return time.Unix(0, at), true
	}
}

// Behind returns how many events the window has behind a position.
func (l *Log) Behind(rev uint64) uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.win.len() == 0 {
		return 0
	}
	return l.win.last() - l.win.lastAt(rev)
}

// LastChange returns the position of the newest event, 0 when the window has none. It is at most Rev, which moves without
// events too.
func (l *Log) LastChange() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if n := len(l.win.events); n > 0 {
		return l.win.events[n-1].Rev
	}
	return 0
}

// Changes returns how many events there have been: it has moved whenever an object has changed, and not with the position alone.
func (l *Log) Changes() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.win.last()
}

// Load sets the first state of a log. It fails with ErrOrder when the log has one already or the parts of c contradict
// one another.
func (l *Log) Load(c Content) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cur.Load().rev != 0 || c.Rev == 0 || c.Floor > c.Rev {
		return fmt.Errorf("%w: state at %d (from %d) over one at %d", ErrOrder, c.Rev, c.Floor, l.cur.Load().rev)
	}
	next := (&state{}).edit()
	for _, o := range c.Objects {
		next.put(l.res, next.get(o.key), o)
	}
	w, err := restored(c)
	if err != nil {
		return err
	}
	next.rev, next.seq = c.Rev, w.last()
	l.win = w
	l.win.trim(l.cfg)
	l.startPacking()
	l.publish(next)
	close(l.ready)
	return nil
}

// Commit makes a batch visible, all of it at once, and wakes the readers that it concerns. A batch without events moves
// the position alone (a bookmark) and wakes nobody. It fails with ErrOrder, and changes nothing, when the batch does not
// follow from the current state.
func (l *Log) Commit(b Batch) error {
	l.mu.Lock()
	if l.err != nil {
		defer l.mu.Unlock()
		return l.err
	}
	cur := l.cur.Load()
	next, err := l.advance(cur, b)
	if err != nil {
		l.mu.Unlock()
		return err
	}
	var hit []*interest
	if cur.rev == 0 {
		l.win = window{floor: b.Rev} // the way to the first state is nobody's business
		next.seq = 0
		defer close(l.ready)
	} else {
		l.win.append(b)
		hit = l.post(b.Events, cur.seq)
		l.win.keep(next)
		l.win.trim(l.cfg)
		l.startPacking()
	}
	l.publish(next)
	l.mu.Unlock()
	l.wake(hit)
	return nil
}

// advance returns the state after b. l.mu is held.
func (l *Log) advance(cur *state, b Batch) (*state, error) {
	if b.Rev < cur.rev || b.Rev == 0 {
		return nil, fmt.Errorf("%w: position %d after %d", ErrOrder, b.Rev, cur.rev)
	}
	next := *cur
	if len(b.Events) > 0 {
		next = *cur.edit()
	}
	at := cur.rev
	for _, e := range b.Events {
		if err := checkEvent(&next, e, at, cur.rev); err != nil {
			return nil, err
		}
		at = e.Rev
		next.apply(l.res, e)
		next.seq++
	}
	if at > b.Rev {
		return nil, fmt.Errorf("%w: event at %d in a batch up to %d", ErrOrder, at, b.Rev)
	}
	next.rev = b.Rev
	return &next, nil
}

// checkEvent holds e against the state that it is to change and the position of the event before it. start is the
// position at which the batch began: only a late event may be at it.
func checkEvent(s *state, e *Event, at, start uint64) error {
	if e.Rev < at || e.Rev == start && !e.Late && start != 0 {
		return fmt.Errorf("%w: event at %d after %d", ErrOrder, e.Rev, at)
	}
	if have := s.get(e.Object.key); have != e.Prev {
		return fmt.Errorf("%w: %s of %s at %d is not against the version that the log holds",
			ErrOrder, e.Type, e.Object.key, e.Rev)
	}
	if (e.Type == Added) != (e.Prev == nil) || (e.Type == Deleted) != (e.Prev == e.Object) {
		return fmt.Errorf("%w: %s of %s at %d has the wrong versions", ErrOrder, e.Type, e.Object.key, e.Rev)
	}
	return nil
}

// publish makes next the current state. l.mu is held.
func (l *Log) publish(next *state) {
	moved := next.rev != l.cur.Load().rev
	l.cur.Store(next)
	if moved && l.moved != nil {
		close(l.moved)
		l.moved = nil
	}
}

// WaitRev waits until the position is at least rev. It returns the context's error when that ends first, and the reason
// when the log is closed.
func (l *Log) WaitRev(ctx context.Context, rev uint64) error {
	for {
		if l.Rev() >= rev {
			return nil
		}
		moved, err := l.movedSignal(rev)
		if err != nil || moved == nil {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// movedSignal returns a channel that is closed when the position moves, nil when it is at rev already.
func (l *Log) movedSignal(rev uint64) (<-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	if l.Rev() >= rev {
		return nil, nil
	}
	if l.moved == nil {
		l.moved = make(chan struct{})
	}
	return l.moved, nil
}

// Close ends the log: readers, waiters and commits get err, or ErrClosed when that is nil. Snapshots stay valid. Only
// the first call counts.
func (l *Log) Close(err error) {
	if err == nil {
		err = ErrClosed
	}
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.err = err
	close(l.done)
	if l.moved != nil {
		close(l.moved)
		l.moved = nil
	}
	l.mu.Unlock()
	l.wakeAll()
	l.packers.Wait()
}
