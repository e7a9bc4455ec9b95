package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// disk is a data file whose descriptor a test can exchange for another one under the store's hands.
type disk struct {
	t    *testing.T
	file *os.File // the store's
	real int      // a descriptor of the data file, for the way back
}

func (d *disk) open(name string, flag int, perm os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil || filepath.Base(name) != FileName || flag&os.O_RDWR == 0 {
		return f, err
	}
	dup, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	d.t.Cleanup(func() { _ = syscall.Close(dup) })
	d.file, d.real = f, dup
	return f, nil
}

// become makes the store's writes go to the device at path.
func (d *disk) become(path string) {
	d.t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // its duplicate stays
	d.dup(int(f.Fd()))
}

// heal makes the store's writes go to its file again.
func (d *disk) heal() {
	d.t.Helper()
	d.dup(d.real)
}

func (d *disk) dup(fd int) {
	d.t.Helper()
	if err := syscall.Dup3(fd, int(d.file.Fd()), syscall.O_CLOEXEC); err != nil {
		d.t.Fatal(err)
	}
}

// newDiskEdge returns an edge with an object in a file that has free pages, so that updates need not ask for its size.
func newDiskEdge(t *testing.T, d *disk) *edge {
	t.Helper()
	e := newEdge(t, Options{openFile: d.open})
	for i := range 50 {
		e.stage(5, put(pod(t, fmt.Sprint(i), "u", 1, 5000)))
	}
	update(t, e.store, func(tx *Tx) error { return tx.DiscardStaged(podsGR) })
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 2000)}, 10))
	return e
}

// A full disk: the update is refused with a clear error and leaves no trace; the same store takes it when there is room.
func TestAFullDisk(t *testing.T) {
	d := &disk{t: t}
	e := newDiskEdge(t, d)
	b := e.log.Snapshot().Plan([]watchlog.Op{put(pod(t, "a", "u1", 11, 2000)), put(pod(t, "b", "u2", 12, 2000))}, 12)
	for range 2 {
		d.become("/dev/full")
		err := e.store.Update(func(tx *Tx) error { return tx.Apply(podsGR, b) })
		if !errors.Is(err, ErrDiskFull) || !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		e.verify() // and what is there can be read
		d.heal()
	}
	e.commit(b)
	e.verify()
	e.reopen()
	e.verify()
}

// The disk takes the pages and fails to sync them: as if the update had never been.
func TestADiskThatFailsToSync(t *testing.T) {
	d := &disk{t: t}
	e := newDiskEdge(t, d)
	b := e.log.Snapshot().Plan([]watchlog.Op{put(pod(t, "a", "u1", 11, 2000))}, 12)
	d.become("/dev/null") // takes everything, can't sync
	err := e.store.Update(func(tx *Tx) error { return tx.Apply(podsGR, b) })
	if err == nil || errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
	e.verify()
	d.heal()
	e.commit(b)
	e.verify()
	e.reopen()
	e.verify()
}

// What bbolt says when the file can't grow, of which only the text is left.
func TestIsDiskFull(t *testing.T) {
	for err, want := range map[error]bool{
		&os.PathError{Op: "write", Err: syscall.ENOSPC}:                        true,
		&os.PathError{Op: "write", Err: syscall.EDQUOT}:                        true,
		&os.PathError{Op: "write", Err: syscall.EIO}:                           false,
		errors.New("file resize error: truncate x: " + syscall.ENOSPC.Error()): true,
	} {
		if isDiskFull(err) != want {
			t.Errorf("%v: %t", err, !want)
		}
	}
}

func TestACloseOnAFullDiskStillCloses(t *testing.T) {
	d := &disk{t: t}
	e := newDiskEdge(t, d)
	d.become("/dev/full")
	if err := e.store.Close(); !errors.Is(err, ErrDiskFull) {
		t.Fatal(err)
	}
	if err := syscall.Flock(d.real, syscall.LOCK_UN); err != nil { // the duplicate shares the file's lock
		t.Fatal(err)
	}
	e.store = open(t, e.dir, Options{})
	if e.store.Recovered() != nil {
		t.Fatal(e.store.Recovered())
	}
	e.verify()
}
