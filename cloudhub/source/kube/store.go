package kube

import (
	"fmt"
	"sync"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// logStore is a reflector's store that turns what the reflector reports into steps of a log. The reflector calls it from
// one goroutine, in the order of the watch. It would take errors for something to log and go on, so a change that can't
// be stored is no error but makes it list again.
//
// The position also moves by proof: see prove.
type logStore struct {
	log    *watchlog.Log
	relist *relist
	events storeEvents
	past   *past

	mu sync.Mutex // held over each commit; guards all below
	// proved is the position that a proof has last taken the log to, base the one before it: the state is the same at all
	// positions from base to proved. They mean something while the log is at proved.
	proved, base uint64
}

// storeEvents hears what a store did.
type storeEvents interface {
	stored()                                 // an event of the watch was committed
	replaced(objects, delta int, first bool) // the whole state was read; delta events took the log there
	lost(err error)                          // an event could not be stored; a relist follows
	rewound(err error)                       // the cloud has gone back; the log can't follow
}

// Add stores an object that a watch has reported.
func (s *logStore) Add(obj any) error { return s.put(obj) }

// Update stores an object that a watch has reported.
func (s *logStore) Update(obj any) error { return s.put(obj) }

// Delete removes an object. A watch's DELETED carries the last state with the revision of the deletion as its
// resourceVersion, and a reflector takes deletions from nowhere else: those it finds by listing come with Replace.
func (s *logStore) Delete(obj any) error {
	return s.commit(obj, func(o *watchlog.Object) watchlog.Op { return watchlog.Op{Key: o.Key(), Rev: o.Rev()} })
}

// Resync does nothing: a log has nothing to repeat.
func (s *logStore) Resync() error { return nil }

func (s *logStore) put(obj any) error {
	return s.commit(obj, func(o *watchlog.Object) watchlog.Op {
		return watchlog.Op{Key: o.Key(), Rev: o.Rev(), Object: o}
	})
}

func (s *logStore) commit(obj any, op func(*watchlog.Object) watchlog.Op) error {
	o, err := itemObject(obj)
	if err == nil {
		err = s.step(op(o))
	}
	s.mustFit(err)
	return nil
}

// mustFit has everything read again after an error.
func (s *logStore) mustFit(err error) {
	if err != nil {
		s.events.lost(err)
		s.relist.ask()
	}
}

// step commits one change.
func (s *logStore) step(op watchlog.Op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := s.log.Snapshot()
	if op.Object == nil && op.Rev <= snap.Rev() && snap.Get(op.Key) == nil {
		return nil // known: a watch was resumed from before it
	}
	var b watchlog.Batch
	switch {
	case op.Rev > snap.Rev():
		b = snap.Plan([]watchlog.Op{op}, op.Rev)
	case op.Rev == snap.Rev():
		// Events that expire with one etcd lease are deleted at one revision, and the watch tells them one by one.
		b = snap.PlanCatchup([]watchlog.Op{op}, op.Rev)
	default:
		return fmt.Errorf("%w: event of %s at %d after %d", watchlog.ErrOrder, op.Key, op.Rev, snap.Rev())
	}
	if err := s.log.Commit(b); err != nil {
		return fmt.Errorf("event of %s at %d: %w", op.Key, op.Rev, err)
	}
	if op.Object != nil {
		s.past.saw(op.Object)
	}
	s.events.stored()
	return nil
}

// Bookmark moves the position.
func (s *logStore) Bookmark(rv string) error {
	rev, err := parseRev(rv)
	if err == nil {
		err = s.moveTo(rev)
	}
	if err != nil {
		err = fmt.Errorf("bookmark %q: %w", rv, err)
	}
	s.mustFit(err)
	return nil
}

func (s *logStore) moveTo(rev uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rev == s.log.Rev() || s.isProvedLocked(rev) {
		return nil
	}
	return s.log.Commit(watchlog.Batch{Rev: rev})
}

// Replace stores the whole state at rv. The first one starts the log; after another one the log has a gap.
func (s *logStore) Replace(list []any, rv string) error {
	err := s.replaceAll(list, rv)
	if err == nil {
		s.relist.done()
	}
	s.mustFit(err)
	return nil // after an error the reflector would forget to close the watch behind a WatchList
}

func (s *logStore) replaceAll(list []any, rv string) error {
	rev, err := parseRev(rv)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	objects := make([]*watchlog.Object, len(list))
	for i := range list {
		if objects[i], err = itemObject(list[i]); err != nil {
			return err
		}
	}
	return s.replace(objects, rev)
}

func (s *logStore) replace(objects []*watchlog.Object, rev uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := s.log.Snapshot()
	if s.isProvedLocked(rev) {
		rev = snap.Rev() // read from a cache that is behind the one that the proof came from
	}
	if snap.Rev() == 0 {
		if err := s.log.Load(watchlog.Content{Objects: objects, Rev: rev, Floor: rev}); err != nil {
			return err
		}
		s.past.read(objects)
		s.events.replaced(len(objects), len(objects), true)
		return nil
	}
	if rev < snap.Rev() {
		s.events.rewound(fmt.Errorf("%w: from %d to %d", source.ErrRewound, snap.Rev(), rev))
		return nil
	}
	if o := older(snap, objects); o != nil {
		s.events.rewound(fmt.Errorf("%w: %s is of version %d again", source.ErrRewound, o.Key(), o.Rev()))
		return nil
	}
	b := snap.PlanReplace(objects, rev)
	if err := s.log.Commit(b); err != nil {
		return fmt.Errorf("state at %d: %w", rev, err)
	}
	s.past.read(objects)
	s.events.replaced(len(objects), len(b.Events), false)
	return nil
}

// older returns an object that is of an older version than the snapshot has, nil when there is none. At a later position
// that can only be when the cloud was restored.
func older(snap watchlog.Snapshot, objects []*watchlog.Object) *watchlog.Object {
	for _, o := range objects {
		if have := snap.Get(o.Key()); have != nil && have.UID() == o.UID() && o.Rev() < have.Rev() {
			return o
		}
	}
	return nil
}

// prove moves the position to rev, because nothing happened between last and there. It does nothing when the log is
// before last or behind rev. The log's own watch knows nothing of it: its bookmarks, and what is read again after it broke,
// may come from before rev.
func (s *logStore) prove(last, rev uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.log.Rev()
	if at < last || at >= rev {
		return nil
	}
	if err := s.log.Commit(watchlog.Batch{Rev: rev}); err != nil {
		return fmt.Errorf("proved position %d: %w", rev, err)
	}
	if at != s.proved {
		s.base = at
	}
	s.proved = rev
	return nil
}

// isProvedLocked tells whether the log is past rev by proof alone, so that its state is that of rev. s.mu is held.
func (s *logStore) isProvedLocked(rev uint64) bool {
	return s.log.Rev() == s.proved && s.base <= rev && rev < s.proved
}
