package apidoc

import "sync"

// Set is a collection of documents, at most one for each path and Accept. It is replaced as a whole, so that a reader
// of several documents of one Edition sees either all old or all new ones. The zero value is not usable; see NewSet. It
// is safe for use by any number of goroutines.
type Set struct {
	mu      sync.RWMutex // guards all below
	edition *Edition     // never nil
	changed chan struct{}
}

// NewSet returns an empty set.
func NewSet() *Set { return &Set{edition: &Edition{}, changed: make(chan struct{})} }

// Replace makes docs the whole content and tells whether that is different from what was there. Of several documents
// with the same path and Accept the last one counts. docs is not kept.
func (s *Set) Replace(docs []Document) (changed bool) {
	next := newEdition(docs)
	s.mu.Lock()
	defer s.mu.Unlock()
	if next.hash == s.edition.hash {
		return false
	}
	s.edition = next
	close(s.changed)
	s.changed = make(chan struct{})
	return true
}

// Current returns the content.
func (s *Set) Current() *Edition {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.edition
}

// Get returns the document for a path and Accept.
func (s *Set) Get(path, accept string) (Document, bool) { return s.Current().Get(path, accept) }

// At returns the variants of a path, sorted by Accept: the plain one comes first. The slice must not be changed.
func (s *Set) At(path string) []Document { return s.Current().At(path) }

// All returns the documents sorted by path and Accept. The slice must not be changed.
func (s *Set) All() []Document { return s.Current().All() }

// Hash identifies the content: equal sets have equal hashes, in any process. "" when the set is empty.
func (s *Set) Hash() string { return s.Current().Hash() }

// Changed returns a channel that is closed at the next change. Take it before reading what it is to guard.
func (s *Set) Changed() <-chan struct{} {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.changed
}
