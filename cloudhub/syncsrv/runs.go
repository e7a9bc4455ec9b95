package syncsrv

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"
)

// runs keeps runs for as long as other sessions may want the same, bounded in time and in bytes: the one that was not used for
// longest goes first.
type runs struct {
	max int64 // bytes that all may take

	mu    sync.Mutex // guards all below
	by    map[runKey]*list.Element
	order list.List // of *sharedRun, the one used last in front
	bytes int64     // what all take that are made

	// expireAt is when to look again for those that nobody uses, in Unix nanoseconds.
	expireAt atomic.Int64
}

// runKey says which run it is.
type runKey struct {
	of uint64 // number of a projection or a listing
	// first and last are the numbers of the events in the log, or the places of the objects in the listing.
	first, last uint64
	form        form
}

// form says how operations may be encoded.
type form struct {
	patches bool // the edge has each object's version before
	frames  bool
}

// sharedRun is a run that is there or being made.
type sharedRun struct {
	home *runs
	key  runKey
	once sync.Once
	run  atomic.Pointer[run] // nil until it is made
	cost int64               // what it counts for; guarded by runs.mu
	used time.Time           // guarded by runs.mu
}

// maxRunBytes bounds what kept runs take. The frames of a first sync of 5,000 objects of 5 kB take about 4 MB.
const maxRunBytes = 64 << 20

// keepRun is how long a run is kept that nobody uses. Sessions that send the same do so within seconds.
const keepRun = 30 * time.Second

func newRuns(maxBytes int64) *runs {
	return &runs{max: maxBytes, by: map[runKey]*list.Element{}}
}

// of returns a run, which build makes if it is not there.
func (rs *runs) of(key runKey, build func() *run) *run {
	s := rs.entry(key)
	if r := s.run.Load(); r != nil {
		return r
	}
	return rs.make(s, build)
}

// make has build make a run, unless it is made by now. Who comes meanwhile waits for it.
func (rs *runs) make(s *sharedRun, build func() *run) *run {
	s.once.Do(func() {
		r := build()
		for i := range r.pieces {
			r.pieces[i].kept = s
		}
		s.run.Store(r)
		s.grew(r.cost())
	})
	if r := s.run.Load(); r != nil {
		return r
	}
	return build() // the first one has panicked
}

// entry returns the place of a run.
func (rs *runs) entry(key runKey) *sharedRun {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	now := time.Now()
	if e := rs.by[key]; e != nil {
		rs.order.MoveToFront(e)
		s := e.Value.(*sharedRun) //nolint:forcetypeassert // there is nothing else in it
		s.used = now
		return s
	}
	s := &sharedRun{home: rs, key: key, used: now}
	rs.by[key] = rs.order.PushFront(s)
	return s
}

// expire lets go of the runs that nobody has used lately. Anybody may call it at any time, and somebody has to.
func (rs *runs) expire(now time.Time) {
	at := rs.expireAt.Load()
	if now.UnixNano() < at || !rs.expireAt.CompareAndSwap(at, now.Add(keepRun/4).UnixNano()) {
		return
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for e := rs.order.Back(); e != nil && now.Sub(e.Value.(*sharedRun).used) > keepRun; e = rs.order.Back() {
		rs.dropLocked(e)
	}
}

// clear lets go of all runs.
func (rs *runs) clear() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for e := rs.order.Back(); e != nil; e = rs.order.Back() {
		rs.dropLocked(e)
	}
}

func (rs *runs) dropLocked(e *list.Element) {
	s := rs.order.Remove(e).(*sharedRun) //nolint:forcetypeassert // there is nothing else in it
	delete(rs.by, s.key)
	rs.bytes -= s.cost
}

// grew notes that the run takes so many bytes more, unless it was let go of, and lets go of those that were not used for
// longest.
func (s *sharedRun) grew(cost int64) {
	rs := s.home
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if e := rs.by[s.key]; e == nil || e.Value != s {
		return
	}
	s.cost += cost
	rs.bytes += cost
	for rs.bytes > rs.max {
		rs.dropLocked(rs.order.Back())
	}
}
