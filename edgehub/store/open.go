package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Open opens the data file in dir and creates both if need be (0600, 0700). A file that is corrupt is set aside and
// replaced by a fresh one, which Recovered and the log tell. Open fails with ErrLocked when another process owns dir and
// with ErrNewerFormat when a newer version of this program wrote the file; in both cases nothing is touched.
func Open(dir string, o Options) (*Store, error) {
	o = o.withDefaults()
	if err := os.MkdirAll(dir, 0o700); err != nil { //nolint:gosec // in the edge's own directory
		return nil, err
	}
	lock, err := lockDir(dir, o.LockTimeout)
	if err != nil {
		return nil, err
	}
	s := &Store{path: filepath.Join(dir, FileName), opts: o, lock: lock}
	err = s.openFile()
	if errors.Is(err, ErrCorrupt) {
		if s.recovered, err = setAside(s.path, err, &o); err == nil {
			err = s.openFile()
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

// openFile opens the data file, which it creates if need be. It fails with ErrCorrupt when the file must not be used. The
// directory is locked.
func (s *Store) openFile() error {
	clean, err := inspect(s.path, &s.opts)
	if err != nil {
		return err
	}
	if err := create(s.path, &s.opts); err != nil {
		return err
	}
	if err := s.encrypt(); err != nil {
		return err
	}
	s.db, err = openBolt(s.path, &s.opts, false)
	if err != nil || clean {
		return err
	}
	// A process that was killed may have left the newest state in memory only. It must not be shown before it is on disk.
	if err := s.db.Sync(); err != nil {
		return errors.Join(s.wrap(err), s.db.Close())
	}
	s.open = true
	return nil
}

// inspect verifies the file at path without changing it. It fails with ErrCorrupt when the file must not be used. clean
// tells whether it was closed in order; a file that isn't there is clean.
func inspect(path string, o *Options) (clean bool, err error) {
	err = readFile(path, o, func(tx *bbolt.Tx) error {
		if clean = isClean(tx); clean {
			return nil
		}
		return inspectUnclean(tx, path, o)
	})
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	return clean, err
}

// inspectUnclean verifies all that is in a file that was not closed in order.
func inspectUnclean(tx *bbolt.Tx, path string, o *Options) error {
	if o.Probe != nil {
		err := o.Probe(path)
		if err == nil || errors.Is(err, ErrCorrupt) {
			return err
		}
		o.Logger.Warn("can't verify the data file in a process of its own, doing it in this one", "file", path, "err", err)
	}
	r := &Report{Path: path}
	r.contents(tx, o)
	return r.Err()
}

// create makes a fresh data file at path unless there is one. It appears complete or not at all.
func create(path string, o *Options) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	db, err := openBolt(next, o, false)
	if err != nil {
		return err
	}
	if err := errors.Join(db.Update(func(tx *bbolt.Tx) error { return initialise(tx, o) }), db.Close()); err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	if err := o.step(StepCreate); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// openBolt opens the file at path as a bbolt database. Reading alone leaves out the list of free pages: only for a file
// whose pages were verified may bbolt look for them.
func openBolt(path string, o *Options, readOnly bool) (db *bbolt.DB, err error) {
	err = guard(func() error {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout:        o.LockTimeout,
			ReadOnly:       readOnly,
			FreelistType:   bbolt.FreelistMapType,
			NoFreelistSync: true,
			NoStatistics:   true,
			OpenFile:       o.openFile,
		})
		return err
	})
	var errno syscall.Errno
	switch {
	case err == nil:
		return db, nil
	case errors.Is(err, berrors.ErrTimeout):
		return nil, fmt.Errorf("%s: %w", path, ErrLocked)
	case errors.As(err, &errno) && errno != syscall.EIO, errors.Is(err, ErrCorrupt):
		return nil, fmt.Errorf("open %s: %w", path, err)
	default: // the disk can't deliver the contents, or bbolt has to complain about them
		return nil, fmt.Errorf("open %s: %w: %w", path, ErrCorrupt, err)
	}
}
