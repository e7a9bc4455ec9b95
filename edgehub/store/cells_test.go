package store

import (
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// TestCellsAreStored also reads them out of every place where a body can be.
func TestCellsAreStored(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	table := *pods
	table.Columns = `[{"name":"Name","format":"<name>"}]`
	describe(t, s, &table)
	live, old, staged := pod(t, "a", "u", 9, 1), pod(t, "a", "u", 5, 1), pod(t, "b", "v", 13, 1)
	apply(t, s, watchlog.Batch{Rev: 5, Events: []*watchlog.Event{{Rev: 5, Shown: 5, Type: watchlog.Added, Object: old}}})
	apply(t, s, watchlog.Batch{Rev: 9, Events: []*watchlog.Event{
		{Rev: 9, Shown: 9, Type: watchlog.Modified, Object: live, Prev: old},
	}})
	update(t, s, func(tx *Tx) error { return tx.Stage(podsGR, []watchlog.Op{put(staged)}, 13) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	c := load(t, s)
	if !c.Objects[0].Same(live) || !c.History[0].Prev.Same(old) || !c.Staged[0].Object.Same(staged) {
		t.Errorf("loaded %s, %s, %s", c.Objects[0].Cells(), c.History[0].Prev.Cells(), c.Staged[0].Object.Cells())
	}
	if got := state(t, s, podsGR).Resource.Columns; got != table.Columns {
		t.Errorf("columns %s", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	lines := dump(t, dir, DumpOptions{Objects: true, JSON: true})
	if want := `,"cells":["a","1/1",{"since":"2026-01-01T00:00:00Z","format":"%s"}]}`; !strings.HasSuffix(lines[1], want) {
		t.Errorf("dump ends %s", lines[1])
	}
}

// TestOtherCellsAreAnotherVersion heals an object whose row alone has changed.
func TestOtherCellsAreAnotherVersion(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	describe(t, s, pods)
	dec := watchlog.NewDecoder(pods)
	row := func(cells string) *watchlog.Object {
		o, err := dec.DecodeRow(podJSON("a", "u", 4, 1), []byte(cells))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	before, after := row(`["a"]`), row(`["a","b"]`)
	apply(t, s, watchlog.Batch{Rev: 4, Events: []*watchlog.Event{{Rev: 4, Shown: 4, Type: watchlog.Added, Object: before}}})
	late := watchlog.Batch{Rev: 4, Events: []*watchlog.Event{
		{Rev: 4, Shown: 4, Type: watchlog.Modified, Late: true, Object: after, Prev: before},
	}}
	apply(t, s, late)
	apply(t, s, late) // the same again is left out
	if c := load(t, s); !c.Objects[0].Same(after) || len(c.History) != 1 {
		t.Errorf("stored %s after %d events", c.Objects[0].Cells(), len(c.History))
	}
}

// TestTheFormerFormatOpens takes a file as the version before cells wrote it: the same layout with a lower number.
func TestTheFormerFormatOpens(t *testing.T) {
	dir := filled(t)
	tamper(t, dir, func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketStore).Put(keyFormat, seal(keyFormat, binary.BigEndian.AppendUint32(nil, 1)))
	})
	stored := func() (n uint32) {
		t.Helper()
		err := readFile(filepath.Join(dir, FileName), atOnce(nil), func(tx *bbolt.Tx) error {
			v, err := unseal(keyFormat, tx.Bucket(bucketStore).Get(keyFormat))
			n = binary.BigEndian.Uint32(v)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	check(t, dir)
	s := open(t, dir, Options{})
	if s.Recovered() != nil || len(load(t, s).Objects) == 0 {
		t.Fatalf("the file was not taken as it is: %v", s.Recovered())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := stored(); got != 1 {
		t.Errorf("format %d after an open that wrote nothing", got)
	}
	s = open(t, dir, Options{})
	update(t, s, func(tx *Tx) error { return tx.SetInfo("a", "b") })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := stored(); got != plainFormat {
		t.Errorf("format %d after an update, should be %d", got, plainFormat)
	}
}
