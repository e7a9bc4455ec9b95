package apidoc

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"sync"
)

// Set is a collection of documents, at most one for each path and Accept. It is replaced as a whole, so that a reader
// of several documents sees either all old or all new ones. The zero value is not usable; see NewSet. It is safe for
// use by any number of goroutines.
type Set struct {
	mu      sync.RWMutex // guards all below
	docs    []Document   // sorted by compare, unique; the slice is never changed, only replaced
	hash    string       // of docs; "" when there are none
	changed chan struct{}
}

// NewSet returns an empty set.
func NewSet() *Set { return &Set{changed: make(chan struct{})} }

// Replace makes docs the whole content and tells whether that is different from what was there. Of several documents
// with the same path and Accept the last one counts. docs is not kept, the bodies are.
func (s *Set) Replace(docs []Document) (changed bool) {
	next := normalize(docs)
	hash := hashOf(next)
	s.mu.Lock()
	defer s.mu.Unlock()
	if hash == s.hash {
		return false
	}
	s.docs, s.hash = next, hash
	close(s.changed)
	s.changed = make(chan struct{})
	return true
}

// normalize returns a sorted copy of docs without duplicates.
func normalize(docs []Document) []Document {
	next := slices.Clone(docs)
	slices.Reverse(next)
	slices.SortStableFunc(next, Document.compare)
	return slices.CompactFunc(next, func(a, b Document) bool { return a.compare(b) == 0 })
}

// Get returns the document for a path and Accept.
func (s *Set) Get(path, accept string) (Document, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i, ok := slices.BinarySearchFunc(s.docs, Document{Path: path, Accept: accept}, Document.compare)
	if !ok {
		return Document{}, false
	}
	return s.docs[i], true
}

// At returns the variants of a path, sorted by Accept: the plain one comes first. The slice must not be changed.
func (s *Set) At(path string) []Document {
	s.mu.RLock()
	defer s.mu.RUnlock()
	from, _ := slices.BinarySearchFunc(s.docs, Document{Path: path}, Document.compare)
	to := from
	for to < len(s.docs) && s.docs[to].Path == path {
		to++
	}
	return s.docs[from:to:to]
}

// All returns the documents sorted by path and Accept. The slice must not be changed.
func (s *Set) All() []Document {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clip(s.docs)
}

// Hash identifies the content: equal sets have equal hashes, in any process. "" when the set is empty.
func (s *Set) Hash() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.hash
}

// Changed returns a channel that is closed at the next change. Take it before reading what it is to guard.
func (s *Set) Changed() <-chan struct{} {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.changed
}

func hashOf(docs []Document) string {
	if len(docs) == 0 {
		return ""
	}
	h := sha256.New()
	var size [8]byte
	part := func(b []byte) { // length first, so that no two sets feed the same bytes
		binary.BigEndian.PutUint64(size[:], uint64(len(b)))
		h.Write(size[:])
		h.Write(b)
	}
	for _, d := range docs {
		for _, s := range [...]string{d.Path, d.Accept, d.MediaType, d.ETag} {
			part([]byte(s))
		}
		part(d.Body)
	}
	return hex.EncodeToString(h.Sum(nil))
}
