package store

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Store is an open data file. It is safe for concurrent use; updates run one at a time, readers beside them.
type Store struct {
	path string // of the data file
	opts Options
	db   *bbolt.DB
	lock *os.File // held from Open to Close: this process owns dir

	recovered error // why Open set a file aside; nil when it did not

	// writer is held by Update from its begin until the fate of its commit is known.
	writer sync.Mutex
	// open says that the file carries the mark of being open. The first update of a session sets it. Guarded by writer.
	open bool
	// closed is set by Close. Guarded by writer.
	closed bool

	// failed is why the store takes no more calls; nil while it works.
	failed atomic.Pointer[error]
	// suspect is set once a reader met damage: the file must not be marked as closed in order.
	suspect atomic.Bool
}

// Recovered returns nil, or an error that wraps ErrCorrupt and says what was wrong with the file that Open found and
// where it was put.
func (s *Store) Recovered() error { return s.recovered }

// Size returns the size of the data file in bytes.
func (s *Store) Size() (int64, error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return 0, fmt.Errorf("size of the data file: %w", err)
	}
	return info.Size(), nil
}

// Update runs fn in a transaction and commits it. When Update returns nil, everything that fn did is on disk; when it
// returns an error, which may be fn's own, nothing of it happened, except for ErrFailed. It fails with ErrDiskFull while
// there is no room, with ErrFailed or ErrClosed for good.
//
// fn must not call the store, and must not use the Tx after it returned.
func (s *Store) Update(fn func(*Tx) error) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	return s.update(fn)
}

// update is Update with the writer lock held.
func (s *Store) update(fn func(*Tx) error) error {
	if err := s.usable(); err != nil {
		return err
	}
	err := guardFaults(func() error { return s.transact(fn) })
	if errors.Is(err, ErrCorrupt) {
		s.suspect.Store(true)
		return s.fail(err)
	}
	return err
}

func (s *Store) transact(fn func(*Tx) error) error {
	tx, err := s.db.Begin(true)
	if err != nil {
		return s.wrap(err)
	}
	defer tx.Rollback() //nolint:errcheck // it only says that the transaction is over
	if !s.open {
		if err := errors.Join(setFormat(tx, &s.opts), setClean(tx, false)); err != nil {
			return s.wrap(err)
		}
	}
	if err := fn(&Tx{tx: tx, opts: &s.opts}); err != nil {
		return err
	}
	if err := s.commit(tx); err != nil {
		return err
	}
	s.open = true
	return nil
}

// commit makes tx durable, or returns why it is as if it had never been.
func (s *Store) commit(tx *bbolt.Tx) error {
	if err := s.opts.step(StepCommit); err != nil {
		return err
	}
	id := tx.ID()
	err := tx.Commit()
	if err == nil {
		err = s.opts.step(StepCommitted)
	}
	if err == nil {
		return nil
	}
	return s.settle(id, s.wrap(err))
}

// settle finds out what became of transaction id, whose commit failed with cause. Up to the last page a failed commit
// leaves no trace. Once that page is written, every reader sees the transaction although its last fsync failed: another
// commit, of nothing, then has to confirm it.
func (s *Store) settle(id int, cause error) error {
	visible := false
	err := guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			visible = tx.ID() >= id
			return nil
		})
	})
	if err != nil {
		return s.fail(errors.Join(cause, err))
	}
	if !visible {
		return cause
	}
	err = s.db.Update(func(tx *bbolt.Tx) error {
		if err := s.opts.step(StepConfirm); err != nil {
			return err
		}
		return tx.Bucket(bucketStore).Put(keyConfirmed, number(uint64(id)))
	})
	if err != nil {
		return s.fail(errors.Join(cause, err))
	}
	s.opts.Logger.Warn("commit failed at first and was confirmed", "file", s.path, "err", cause)
	return nil
}

// fail ends the store's work, because of cause.
func (s *Store) fail(cause error) error {
	err := fmt.Errorf("%w: %w", ErrFailed, cause)
	s.failed.Store(&err)
	return err
}

// usable returns why the store takes no calls.
func (s *Store) usable() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// view runs fn in a read transaction. Damage that it meets makes the file suspect.
func (s *Store) view(fn func(*bbolt.Tx) error) error {
	if err := s.usable(); err != nil {
		return err
	}
	err := guard(func() error { return s.db.View(fn) })
	if errors.Is(err, ErrCorrupt) {
		s.suspect.Store(true)
	}
	return s.wrap(err)
}

// wrap adds the file's name to an error of bbolt and gives the ones that callers act on their names.
func (s *Store) wrap(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return ErrClosed
	case isDiskFull(err):
		return fmt.Errorf("%w: %s: %w", ErrDiskFull, s.path, err)
	default:
		return fmt.Errorf("%s: %w", s.path, err)
	}
}

// isDiskFull tells whether err says that there is no room. bbolt passes on the text alone of what kept the file from
// growing.
func isDiskFull(err error) bool {
	for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, full) || strings.Contains(err.Error(), full.Error()) {
			return true
		}
	}
	return false
}

// Close waits for readers, marks the file as closed in order and lets go of it. The store is closed even when Close
// returns an error; the next Open then verifies the file. Closing again does nothing.
func (s *Store) Close() error {
	s.writer.Lock()
	defer s.writer.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.mark()
	if e := s.db.Close(); e != nil {
		err = errors.Join(err, s.wrap(e))
	}
	s.failed.CompareAndSwap(nil, &errClosed)
	return errors.Join(err, s.lock.Close())
}

var errClosed = ErrClosed

// mark writes whether the file was closed in order, if it does not say so already. The writer lock is held.
func (s *Store) mark() error {
	clean := !s.suspect.Load() && s.failed.Load() == nil
	if s.open != clean {
		return nil
	}
	if err := s.opts.step(StepClose); err != nil {
		return err
	}
	return s.wrap(s.db.Update(func(tx *bbolt.Tx) error { return setClean(tx, clean) }))
}
