package session

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

func textDocument(path, text string) apidoc.Document {
	return apidoc.Document{Path: path, MediaType: "application/json", ETag: `"1"`, Body: apidoc.Pack([]byte(text))}
}

func wireDocument(d apidoc.Document) *tombolov1.Document {
	return &tombolov1.Document{Path: d.Path, Accept: d.Accept, MediaType: d.MediaType, Etag: d.ETag, Body: d.Body.Frame()}
}

func wireIndex(docs ...apidoc.Document) *tombolov1.DocumentIndex {
	s := apidoc.NewSet()
	s.Replace(docs)
	m := &tombolov1.DocumentIndex{Hash: s.Hash()}
	for _, d := range s.All() {
		h := d.Hash()
		m.Entries = append(m.Entries, &tombolov1.DocumentEntry{Path: d.Path, Accept: d.Accept, Hash: h[:]})
	}
	return m
}

func nothingHeld(documentKey, apidoc.Hash) bool { return false }

func TestIndexIsRefused(t *testing.T) {
	a, b := textDocument("/a", "1"), textDocument("/b", "2")
	for name, change := range map[string]func(*tombolov1.DocumentIndex){
		"without documents":      func(m *tombolov1.DocumentIndex) { m.Entries = nil },
		"with another hash":      func(m *tombolov1.DocumentIndex) { m.Hash = "x" },
		"with another document":  func(m *tombolov1.DocumentIndex) { m.Entries[0].Hash[0] ^= 1 },
		"out of order":           func(m *tombolov1.DocumentIndex) { m.Entries[0], m.Entries[1] = m.Entries[1], m.Entries[0] },
		"with one twice":         func(m *tombolov1.DocumentIndex) { m.Entries[0].Path = "/b" },
		"with no path":           func(m *tombolov1.DocumentIndex) { m.Entries[0].Path = "" },
		"with a path that ends":  func(m *tombolov1.DocumentIndex) { m.Entries[0].Path = "/\x00" },
		"with a hash too short":  func(m *tombolov1.DocumentIndex) { m.Entries[0].Hash = m.Entries[0].Hash[1:] },
		"with too many entries":  func(m *tombolov1.DocumentIndex) { m.Entries = make([]*tombolov1.DocumentEntry, maxDocuments+1) },
		"with an accept a zero ": func(m *tombolov1.DocumentIndex) { m.Entries[0].Accept = "\x00" },
	} {
		m := wireIndex(a, b)
		if _, err := readIndex(m); err != nil {
			t.Fatal(err)
		}
		change(m)
		if _, err := readIndex(m); err == nil {
			t.Errorf("an index %s was taken", name)
		}
	}
}

func TestDocumentsAreRefused(t *testing.T) {
	a, b := textDocument("/a", "1"), textDocument("/b", "2")
	ix, err := readIndex(wireIndex(a, b))
	if err != nil {
		t.Fatal(err)
	}
	if places := ix.needs(func(k documentKey, _ apidoc.Hash) bool { return k.path == "/b" }); len(places) != 1 || places[0] != 0 {
		t.Fatalf("the edge needs %v", places)
	}
	good := func() *tombolov1.Documents {
		return &tombolov1.Documents{Hash: ix.hash, Documents: []*tombolov1.Document{wireDocument(a)}}
	}
	if _, err := ix.admit(good()); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*tombolov1.Documents){
		"of another index":       func(m *tombolov1.Documents) { m.Hash = "x" },
		"that are held":          func(m *tombolov1.Documents) { m.Documents = []*tombolov1.Document{wireDocument(b)} },
		"nobody knows":           func(m *tombolov1.Documents) { m.Documents[0].Path = "/c" },
		"with another text":      func(m *tombolov1.Documents) { m.Documents[0].Body = b.Body.Frame() },
		"with another ETag":      func(m *tombolov1.Documents) { m.Documents[0].Etag = "" },
		"with a damaged text":    func(m *tombolov1.Documents) { m.Documents[0].Body = []byte("1") },
		"without text":           func(m *tombolov1.Documents) { m.Documents[0].Body = nil },
		"as another media type ": func(m *tombolov1.Documents) { m.Documents[0].MediaType = "text/plain" },
	} {
		m := good()
		change(m)
		if _, err := ix.admit(m); err == nil {
			t.Errorf("documents %s were taken", name)
		}
	}
	var none *documentIndex
	if _, err := none.admit(&tombolov1.Documents{}); err == nil {
		t.Error("documents without an index were taken")
	}
}

// FuzzDocuments: of an index and documents off the wire only those are taken that are what the index says.
func FuzzDocuments(f *testing.F) {
	a, b := textDocument("/a", "1"), textDocument("/openapi/v3", "2")
	index, err := proto.Marshal(wireIndex(a, b))
	if err != nil {
		f.Fatal(err)
	}
	docs, err := proto.Marshal(&tombolov1.Documents{
		Hash: wireIndex(a, b).GetHash(), Documents: []*tombolov1.Document{wireDocument(a), wireDocument(b)},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(index, docs)
	f.Fuzz(func(t *testing.T, index, docs []byte) {
		i, d := &tombolov1.DocumentIndex{}, &tombolov1.Documents{}
		if proto.Unmarshal(index, i) != nil || proto.Unmarshal(docs, d) != nil {
			return
		}
		ix, err := readIndex(i)
		if err != nil {
			return
		}
		ix.needs(nothingHeld)
		taken, err := ix.admit(d)
		if err != nil {
			return
		}
		for _, doc := range taken {
			if ix.want[keyOf(doc)] != doc.Hash() {
				t.Errorf("%+v was taken", doc)
			}
			ix.arrived(keyOf(doc))
		}
		left := 0
		for _, n := range ix.left {
			left += n
		}
		if left != len(ix.missing) {
			t.Errorf("%d are left, %d missing", left, len(ix.missing))
		}
	})
}
