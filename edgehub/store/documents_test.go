package store

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

func documents(t *testing.T, s *Store) []apidoc.Document {
	t.Helper()
	docs, err := s.Documents()
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// noise does not compress.
var noise = func() []byte {
	b := make([]byte, 1<<20)
	src := rand.NewChaCha8([32]byte{1})
	_, _ = src.Read(b)
	return b
}()

func TestDocumentsAreReplacedAsAWhole(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	apis := apidoc.Document{Path: "/apis", MediaType: "application/json", Body: apidoc.Pack([]byte("{}"))}
	aggregated := apidoc.Document{Path: "/apis", Accept: "application/json;v=v2", MediaType: "m", ETag: `"x"`, Body: apidoc.Pack([]byte("[]"))}
	large := apidoc.Document{Path: "/openapi/v3", MediaType: "m", Body: apidoc.Pack(noise)}
	empty := apidoc.Document{Path: "/version"}
	for _, set := range [][]apidoc.Document{{large, aggregated, apis}, {apis, empty}, {apis, large}, nil} {
		update(t, s, func(tx *Tx) error { return tx.PutDocuments(set) })
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, Options{})
		want := apidoc.NewSet()
		want.Replace(set)
		if got := documents(t, s); !slices.EqualFunc(got, want.All(), apidoc.Document.Equal) {
			t.Fatalf("got %d documents, want %d", len(got), len(set))
		}
	}
}

func TestPutDocumentsWritesOnlyWhatChanged(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	set := []apidoc.Document{{Path: "/a", Body: apidoc.Pack(noise)}, {Path: "/b", Body: apidoc.Pack([]byte("{}"))}}
	written := func() (bytes int64) {
		update(t, s, func(tx *Tx) error {
			tx.tx.OnCommit(func() { stats := tx.tx.Stats(); bytes = stats.GetPageAlloc() })
			return tx.PutDocuments(set)
		})
		return bytes
	}
	if n := written(); n < 1<<20 {
		t.Fatalf("the first time wrote %d bytes", n)
	}
	if n := written(); n > 1<<16 {
		t.Fatalf("the second time wrote %d bytes", n)
	}
}

func TestPutDocumentsRefusesWhatItCannotTellApart(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	for _, d := range []apidoc.Document{{}, {Path: "/a\x00b"}, {Path: "/a", Accept: "b\x00c"}} {
		if err := s.Update(func(tx *Tx) error { return tx.PutDocuments([]apidoc.Document{d}) }); err == nil {
			t.Fatalf("%+v was taken", d)
		}
	}
}

func TestInfo(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	set := func(k, v string) { t.Helper(); update(t, s, func(tx *Tx) error { return tx.SetInfo(k, v) }) }
	set("hub", "h1")
	set("hub", "h2")
	set("contact", "now")
	set("contact", "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	for k, want := range map[string]string{"hub": "h2", "contact": "", "never": ""} {
		if got, err := s.Info(k); got != want || err != nil {
			t.Fatalf("%s is %q, %v", k, got, err)
		}
	}
	if err := s.Update(func(tx *Tx) error { return tx.SetInfo("", "x") }); err == nil {
		t.Fatal("a fact without a name was taken")
	}
}
