package store

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func TestCheckCounts(t *testing.T) {
	r := check(t, filled(t))
	if !r.Clean || r.Documents != 0 || r.Infos != 1 || len(r.Resources) != 1 || r.Size == 0 {
		t.Fatalf("%+v", r)
	}
	got := r.Resources[0]
	got.BodyBytes, got.WindowBytes = 0, 0
	want := ResourceReport{
		Name: "pods", Epoch: "e1", Scope: "s1", Rev: 30, StagedRev: 40, Oldest: 10,
		Objects: 3, Events: 4, Gaps: 1, Staged: 2, Bodies: 6,
	}
	if got != want {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

func TestCheckWithoutAFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := Check(dir); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Fatal(names, err)
	}
}

func TestCheckOfAFileThatIsNoDatabase(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Check(dir)
	if err != nil || !errors.Is(r.Err(), ErrCorrupt) {
		t.Fatal(r, err)
	}
}

// parts gives a test the buckets of the pods that filled stores.
type parts struct{ meta, bodies, index, events, staged *bbolt.Bucket }

// edit changes the progress.
func (p parts) edit(fn func(*progress)) error {
	v, err := unseal(keyProgress, p.meta.Get(keyProgress))
	if err != nil {
		return err
	}
	pr, err := decodeProgress(v)
	if err != nil {
		return err
	}
	fn(&pr)
	return p.meta.Put(keyProgress, seal(keyProgress, pr.encode()))
}

// editEvent changes an event.
func (p parts) editEvent(seq uint64, fn func(*eventRecord)) error {
	k := number(seq)
	_, e, err := readEvent(k, p.events.Get(k))
	if err != nil {
		return err
	}
	fn(&e)
	return p.events.Put(k, seal(k, e.encode()))
}

// Every invariant is broken once; filled stores bodies 1 a@5, 2 b@6, 3 a@11, 4 c@12, 5 d@20, 6 e@35 (staged), and the
// events 1 a→3, 2 c, 3 b deleted, 4 d.
func TestCheckFinds(t *testing.T) {
	put := func(b *bbolt.Bucket, k string, id, rev uint64) error {
		return b.Put([]byte(k), entry{id, rev}.encode())
	}
	for name, c := range map[string]struct {
		tamper func(p parts) error
		want   string
	}{
		"a wrong checksum of a body": {func(p parts) error {
			v := append([]byte(nil), p.bodies.Get(number(3))...)
			v[20] ^= 1
			return p.bodies.Put(number(3), v)
		}, "checksum"},
		"a wrong checksum of an event": {func(p parts) error {
			v := append([]byte(nil), p.events.Get(number(2))...)
			v[len(v)-1] ^= 1
			return p.events.Put(number(2), v)
		}, "checksum"},
		"a wrong checksum of the progress": {func(p parts) error { return p.meta.Put(keyProgress, make([]byte, 40)) }, "checksum"},
		"a wrong description":              {func(p parts) error { return p.meta.Put(keyDescription, seal(keyDescription, []byte("{}"))) }, "description is of"},
		"a body that is no object":         {func(p parts) error { return p.bodies.Put(number(3), seal(number(3), []byte("[]"))) }, "malformed"},
		"a body without a reference":       {func(p parts) error { return p.bodies.Put(number(5), seal(number(5), podJSON("d", "u4", 20, 1))) }, ""},
		"an orphan":                        {func(p parts) error { return p.index.Delete([]byte("ns/d")) }, "body 5 of ns/d is referenced 0 times"},
		"a body named twice":               {func(p parts) error { return put(p.staged, "ns/d", 5, 20) }, "body 5 of ns/d is referenced 2 times"},
		"a body beyond the last":           {func(p parts) error { return p.bodies.Put(number(99), seal(number(99), podJSON("z", "u", 3, 1))) }, "body 99 is beyond 6"},
		"an index entry without a body":    {func(p parts) error { return p.bodies.Delete(number(5)) }, "index of ns/d names body 5"},
		"an event without its body":        {func(p parts) error { return p.bodies.Delete(number(1)) }, "event of ns/a names body 1"},
		"a staged entry without its body":  {func(p parts) error { return p.bodies.Delete(number(6)) }, "staged of ns/e names body 6"},
		"an index entry of another key":    {func(p parts) error { return put(p.index, "ns/x", 5, 20) }, "index of ns/x names body 5, which is ns/d"},
		"an index entry at another rev":    {func(p parts) error { return put(p.index, "ns/d", 5, 19) }, "index of ns/d is at 19, its body at 20"},
		"an index entry without an id":     {func(p parts) error { return put(p.index, "ns/d", 0, 20) }, "index of ns/d names body 0"},
		"an index entry that is too short": {func(p parts) error { return p.index.Put([]byte("ns/d"), []byte("x")) }, "entry of 1 bytes"},
		"a staged entry that is too short": {func(p parts) error { return p.staged.Put([]byte("ns/e"), []byte("x")) }, "entry of 1 bytes"},
		"an event that makes no sense":     {func(p parts) error { return p.editEvent(1, func(e *eventRecord) { e.prev = 0 }) }, "makes no sense"},
		"an event that leads elsewhere":    {func(p parts) error { return put(p.index, "ns/a", 1, 5) }, "events of ns/a lead to body 3, live is 1"},
		"an event against another version": {func(p parts) error {
			k := number(4)
			e := eventRecord{typ: watchlog.Modified, rev: 30, shown: 11, object: 3, prev: 1, key: "ns/a"}
			return p.events.Put(k, seal(k, e.encode()))
		}, "against body 1, the one before left 3"},
		"an event that shows another rev":   {func(p parts) error { return p.editEvent(2, func(e *eventRecord) { e.shown = 13 }) }, "event 2 shows 13, its object 12"},
		"events out of order":               {func(p parts) error { return p.editEvent(1, func(e *eventRecord) { e.rev = 29 }) }, "event 2 is at 12, after 29"},
		"an event beyond the position":      {func(p parts) error { return p.editEvent(4, func(e *eventRecord) { e.rev = 31 }) }, "event 4 is at 31"},
		"a hole in the events":              {func(p parts) error { return p.events.Delete(number(2)) }, "event 3 follows 1"},
		"the last event missing":            {func(p parts) error { return p.events.Delete(number(4)) }, "events end at 3, should at 4"},
		"a position below the events":       {func(p parts) error { return p.edit(func(p *progress) { p.rev = 19 }) }, "event 4 is at 20"},
		"a wrong size of the window":        {func(p parts) error { return p.edit(func(p *progress) { p.bytes++ }) }, "window costs"},
		"objects without a position":        {func(p parts) error { return p.edit(func(p *progress) { p.rev = 0 }) }, "without a position"},
		"staged without a position":         {func(p parts) error { return p.edit(func(p *progress) { p.staged = 0 }) }, "2 staged without a staged position"},
		"a window from beyond the position": {func(p parts) error { return p.edit(func(p *progress) { p.oldest = 31 }) }, "window from 31 at position 30"},
		"a gap beyond the position":         {func(p parts) error { return p.edit(func(p *progress) { p.gaps[0].To = 31 }) }, "gap from 13 to 31"},
		"a gap before the window":           {func(p parts) error { return p.edit(func(p *progress) { p.gaps[0].From = 9 }) }, "gap from 9 to 30, after 10"},
		"a progress that is too short":      {func(p parts) error { return p.meta.Put(keyProgress, seal(keyProgress, []byte("x"))) }, "progress of 1 bytes"},
		"a key that is no number":           {func(p parts) error { return p.bodies.Put([]byte("x"), seal([]byte("x"), nil)) }, "is not a number"},
		"a bucket among the bodies":         {func(p parts) error { _, err := p.bodies.CreateBucket([]byte("zzz")); return err }, "inside bodies"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			tamperPods(t, dir, c.tamper)
			r, err := Check(dir)
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(r.Problems, "\n")
			if c.want == "" && all != "" || !strings.Contains(all, c.want) {
				t.Fatalf("found:\n%s", all)
			}
			if c.want != "" && !errors.Is(r.Err(), ErrCorrupt) {
				t.Fatal(r.Err())
			}
		})
	}
}

func TestCheckFindsDamageOutsideOfResources(t *testing.T) {
	for name, damage := range map[string]func(tx *bbolt.Tx) error{
		"a document": func(tx *bbolt.Tx) error { return tx.Bucket(bucketDocuments).Put([]byte("/a\x00"), []byte("12345")) },
		"a document's key": func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketDocuments).Put([]byte("/a"), seal([]byte("/a"), []byte{0, 0}))
		},
		"a document's texts": func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketDocuments).Put([]byte("/a\x00"), seal([]byte("/a\x00"), binary.AppendUvarint(nil, 1000)))
		},
		"a census":           func(tx *bbolt.Tx) error { return tx.Bucket(bucketStore).Delete(keyCensus) },
		"a short census":     func(tx *bbolt.Tx) error { return tx.Bucket(bucketStore).Put(keyCensus, seal(keyCensus, nil)) },
		"a resource missing": func(tx *bbolt.Tx) error { return tx.Bucket(bucketResources).DeleteBucket([]byte("pods")) },
		"a document missing": func(tx *bbolt.Tx) error { return census{resources: 1, documents: 1}.write(tx) },
		"a fact":             func(tx *bbolt.Tx) error { return tx.Bucket(bucketInfo).Put([]byte("hub"), []byte("123")) },
		"a stray resource":   func(tx *bbolt.Tx) error { return tx.Bucket(bucketResources).Put([]byte("x"), []byte("y")) },
		"a hollow resource":  func(tx *bbolt.Tx) error { _, err := tx.Bucket(bucketResources).CreateBucket([]byte("x")); return err },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			tamper(t, dir, damage)
			r, err := Check(dir)
			if err != nil || len(r.Problems) == 0 {
				t.Fatal(r.Problems, err)
			}
		})
	}
}

func TestAReportIsBounded(t *testing.T) {
	dir := filled(t)
	tamper(t, dir, func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketResources).Bucket([]byte("pods")).Bucket(bucketBodies)
		for i := range uint64(3 * maxProblems) {
			if err := b.Put(number(100+i), []byte("12345")); err != nil {
				return err
			}
		}
		return nil
	})
	r, err := Check(dir)
	if err != nil || len(r.Problems) != maxProblems || r.More != 2*maxProblems {
		t.Fatal(len(r.Problems), r.More, err)
	}
	if !strings.Contains(r.Err().Error(), "(300 problems)") {
		t.Fatal(r.Err())
	}
}
