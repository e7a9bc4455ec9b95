package store

import (
	"errors"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// A file that was closed in order is not verified as a whole when it is opened. Load finds what is missing from it. See
// TestCheckFinds for what filled stores.
func TestLoadFindsWhatIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		tamper func(p parts) error
		want   string
	}{
		"a live version":        {func(p parts) error { return p.index.Delete([]byte("ns/d")) }, "body 5 of ns/d is referenced 0 times"},
		"a staged version":      {func(p parts) error { return p.staged.Delete([]byte("ns/e")) }, "body 6 of ns/e is referenced 0 times"},
		"the body of one":       {func(p parts) error { return p.bodies.Delete(number(5)) }, "no body 5 of ns/d"},
		"the body of an event":  {func(p parts) error { return p.bodies.Delete(number(1)) }, "no body 1 of ns/a"},
		"an event":              {func(p parts) error { return p.events.Delete(number(2)) }, "event 3 follows 1"},
		"the last event":        {func(p parts) error { return p.events.Delete(number(4)) }, "events end at 3, should at 4"},
		"the number of bodies":  {func(p parts) error { return p.bodies.SetSequence(5) }, "body 6 is beyond 5"},
		"the right key":         {func(p parts) error { return p.index.Put([]byte("ns/x"), entry{5, 20}.encode()) }, "body 5 is ns/d, should be ns/x"},
		"the right rev":         {func(p parts) error { return p.index.Put([]byte("ns/d"), entry{5, 19}.encode()) }, "is at 20, should be at 19"},
		"the id of an object":   {func(p parts) error { return p.index.Put([]byte("ns/y"), entry{0, 19}.encode()) }, "no live version of ns/y"},
		"the sense of a body":   {func(p parts) error { return p.bodies.Put(number(5), seal(number(5), []byte("[]"))) }, "malformed"},
		"the sense of an event": {func(p parts) error { return p.editEvent(1, func(e *eventRecord) { e.typ = 9 }) }, "makes no sense"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			tamperPods(t, dir, c.tamper)
			s, err := Open(dir, Options{Logger: silent})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close() //nolint:errcheck // the file is damaged on purpose
			if s.Recovered() != nil {
				t.Fatal(s.Recovered())
			}
			if _, err = s.Load(podsGR, watchlog.NewDecoder(pods)); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
				t.Fatal(err)
			}
		})
	}
}

// tamperPods changes the buckets of the pods behind the store's back.
func tamperPods(t *testing.T, dir string, fn func(p parts) error) {
	t.Helper()
	tamper(t, dir, func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketResources).Bucket([]byte("pods"))
		return fn(parts{
			meta: b.Bucket(bucketMeta), bodies: b.Bucket(bucketBodies), index: b.Bucket(bucketIndex),
			events: b.Bucket(bucketEvents), staged: b.Bucket(bucketStaged),
		})
	})
}

// A resource or a document that a damaged page lost is missed although nothing refers to it.
func TestWhatNothingRefersToIsMissed(t *testing.T) {
	dir := filled(t)
	tamper(t, dir, func(tx *bbolt.Tx) error { return census{resources: 2, documents: 1}.write(tx) })
	s, err := Open(dir, Options{Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // the file is damaged on purpose
	if _, err := s.Resources(); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if _, err := s.Documents(); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}
