package store

import (
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

func arrivals(t *testing.T, s *Store) []apidoc.Document {
	t.Helper()
	docs, err := s.Arrivals()
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func TestArrivalsOutliveTheProcessAndAreNotServed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	if got := arrivals(t, s); len(got) != 0 {
		t.Fatalf("%d arrivals in a new store", len(got))
	}
	served := apidoc.Document{Path: "/apis", Body: apidoc.Pack([]byte("old"))}
	a, b := apidoc.Document{Path: "/apis", Body: apidoc.Pack([]byte("new"))}, apidoc.Document{Path: "/version", Accept: "x"}
	update(t, s, func(tx *Tx) error { return tx.PutDocuments([]apidoc.Document{served}) })
	update(t, s, func(tx *Tx) error { return tx.KeepArrivals([]apidoc.Document{served}) })
	update(t, s, func(tx *Tx) error { return tx.KeepArrivals([]apidoc.Document{a, b}) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	if got := arrivals(t, s); !slices.EqualFunc(got, []apidoc.Document{a, b}, apidoc.Document.Equal) {
		t.Fatalf("arrivals %v", got)
	}
	if got := documents(t, s); len(got) != 1 || !got[0].Equal(served) {
		t.Fatalf("documents %v", got)
	}
	update(t, s, func(tx *Tx) error { return tx.DropArrivals([]apidoc.Document{a}) })
	if got := arrivals(t, s); len(got) != 1 || !got[0].Equal(b) {
		t.Fatalf("arrivals %v", got)
	}
	if err := s.Update(func(tx *Tx) error { return tx.KeepArrivals([]apidoc.Document{{Path: "/a\x00b"}}) }); err == nil {
		t.Fatal("a document that can't be stored was taken")
	}
}

func TestDamagedArrivalIsFound(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	update(t, s, func(tx *Tx) error { return tx.KeepArrivals([]apidoc.Document{{Path: "/apis"}}) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tamper(t, dir, func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketArrivals).Put([]byte("/apis\x00"), []byte("12345"))
	})
	r, err := Check(dir)
	if err != nil || len(r.Problems) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	tamper(t, dir, func(tx *bbolt.Tx) error { return tx.DeleteBucket(bucketArrivals) })
}

func TestDocumentsOfAnOlderVersion(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tamper(t, dir, func(tx *bbolt.Tx) error {
		key := []byte("/apis\x00")
		if err := tx.Bucket(bucketDocuments).Put(key, seal(key, append([]byte{0, 0}, `{"a":1}`...))); err != nil {
			return err
		}
		return adjustCensus(tx, func(c *census) { c.documents++ })
	})
	s = open(t, dir, Options{})
	if got := documents(t, s); len(got) != 1 || got[0].Body.String() != `{"a":1}` {
		t.Fatalf("documents %v", got)
	}
}
