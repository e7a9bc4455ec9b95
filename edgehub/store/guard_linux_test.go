package store

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// gone returns a mapped page of a file that was cut short after it was mapped: reading it raises a fault.
func gone(t *testing.T) []byte {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // the mapping stays
	page := os.Getpagesize()
	if err := f.Truncate(int64(page)); err != nil {
		t.Fatal(err)
	}
	m, err := syscall.Mmap(int(f.Fd()), 0, page, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(m) })
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFaultsAreErrors(t *testing.T) {
	m := gone(t)
	sum := byte(0)
	read := func() error { sum += m[0]; return nil }
	if err := guard(read); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if err := guardFaults(read); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// The disk fails under an update: the store ends rather than the process, and the file is verified when it is opened.
func TestAFaultInAnUpdateEndsTheStore(t *testing.T) {
	e := newEdge(t, Options{})
	m := gone(t)
	err := e.store.Update(func(tx *Tx) error { return tx.SetInfo("x", string(m[:1])) })
	if !errors.Is(err, ErrFailed) || !errors.Is(err, ErrCorrupt) {
		t.Fatal(err)
	}
	if err := e.store.Update(func(*Tx) error { return nil }); !errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
	if err := e.store.Close(); err != nil {
		t.Fatal(err)
	}
	if r := check(t, e.dir); r.Clean {
		t.Fatal("the file says that it was closed in order")
	}
	e.store = open(t, e.dir, Options{})
	e.verify()
}
