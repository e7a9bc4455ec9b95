package apidoc

import (
	"crypto/sha256"
	"slices"
)

// Edition is the content of a Set at one moment. It is immutable. The zero value is empty.
type Edition struct {
	docs   []Document // sorted by compare, unique
	hashes []Hash     // of docs
	hash   string     // of docs; "" when there are none
}

func newEdition(docs []Document) *Edition {
	e := &Edition{docs: normalize(docs)}
	for _, d := range e.docs {
		e.hashes = append(e.hashes, d.Hash())
	}
	e.hash = HashOf(e.hashes)
	return e
}

// normalize returns a sorted copy of docs without duplicates.
func normalize(docs []Document) []Document {
	next := slices.Clone(docs)
	slices.Reverse(next)
	slices.SortStableFunc(next, Document.compare)
	return slices.CompactFunc(next, func(a, b Document) bool { return a.compare(b) == 0 })
}

// HashOf returns the hash of an edition whose documents have these hashes, sorted by path and Accept: their SHA-256,
// cut to 128 bits, in hexadecimal; "" when there are none.
func HashOf(documents []Hash) string {
	if len(documents) == 0 {
		return ""
	}
	h := sha256.New()
	for i := range documents {
		h.Write(documents[i][:])
	}
	return sum(h).String()
}

// Get returns the document for a path and Accept.
func (e *Edition) Get(path, accept string) (Document, bool) {
	i, ok := slices.BinarySearchFunc(e.docs, Document{Path: path, Accept: accept}, Document.compare)
	if !ok {
		return Document{}, false
	}
	return e.docs[i], true
}

// At returns the variants of a path, sorted by Accept: the plain one comes first. The slice must not be changed.
func (e *Edition) At(path string) []Document {
	from, _ := slices.BinarySearchFunc(e.docs, Document{Path: path}, Document.compare)
	to := from
	for to < len(e.docs) && e.docs[to].Path == path {
		to++
	}
	return e.docs[from:to:to]
}

// All returns the documents sorted by path and Accept. The slice must not be changed.
func (e *Edition) All() []Document { return slices.Clip(e.docs) }

// Hashes returns the hashes of All. The slice must not be changed.
func (e *Edition) Hashes() []Hash { return slices.Clip(e.hashes) }

// Hash identifies the content: equal editions have equal hashes, in any process. "" for an empty one.
func (e *Edition) Hash() string { return e.hash }
