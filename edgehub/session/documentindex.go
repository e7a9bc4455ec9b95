package session

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

const (
	// maxDocuments bounds the documents of a cloud. A group version takes about five.
	maxDocuments = 20_000
	// maxDocumentBytes bounds what they take in memory and on disk, compressed. A plain cluster's take 2 MiB.
	maxDocumentBytes = 64 << 20
)

// documentKey is the place of a document in a set.
type documentKey struct{ path, accept string }

func keyOf(d apidoc.Document) documentKey { return documentKey{d.Path, d.Accept} }

// documentIndex is what a hub says about the documents of its cloud, and how much of that the edge has.
type documentIndex struct {
	hash    string
	keys    []documentKey // in the hub's order, which tells the place of each
	want    map[documentKey]apidoc.Hash
	missing map[documentKey]struct{}
	left    [apidoc.Parts]int // how many are missing, by part
}

// readIndex reads an index off the wire.
func readIndex(m *tombolov1.DocumentIndex) (*documentIndex, error) {
	n := len(m.GetEntries())
	if n == 0 || n > maxDocuments {
		return nil, fmt.Errorf("an index of %d documents", n)
	}
	ix := &documentIndex{
		hash: m.GetHash(), want: make(map[documentKey]apidoc.Hash, n), missing: map[documentKey]struct{}{},
	}
	hashes := make([]apidoc.Hash, 0, n)
	for _, e := range m.GetEntries() {
		k := documentKey{e.GetPath(), e.GetAccept()}
		if !strings.HasPrefix(k.path, "/") || strings.ContainsRune(k.path+k.accept, 0) || len(e.GetHash()) != apidoc.HashSize {
			return nil, fmt.Errorf("an index with a document %q", k)
		}
		if len(ix.keys) > 0 && !ix.keys[len(ix.keys)-1].before(k) {
			return nil, fmt.Errorf("an index with document %q out of order", k)
		}
		ix.keys = append(ix.keys, k)
		ix.want[k] = apidoc.Hash(e.GetHash())
		hashes = append(hashes, apidoc.Hash(e.GetHash()))
	}
	if apidoc.HashOf(hashes) != ix.hash {
		return nil, errors.New("an index of documents that does not have the hash that it says")
	}
	return ix, nil
}

// before tells whether k stands before o in an index.
func (k documentKey) before(o documentKey) bool {
	return k.path < o.path || k.path == o.path && k.accept < o.accept
}

func (k documentKey) part() apidoc.Part { return apidoc.Document{Path: k.path}.Part() }

// wants tells whether d is what the index names.
func (ix *documentIndex) wants(d apidoc.Document) bool {
	h, ok := ix.want[keyOf(d)]
	return ok && h == d.Hash()
}

// needs finds out which documents have is false for, and returns their places.
func (ix *documentIndex) needs(have func(documentKey, apidoc.Hash) bool) []uint32 {
	var places []uint32
	for i, k := range ix.keys {
		if have(k, ix.want[k]) {
			continue
		}
		ix.missing[k] = struct{}{}
		ix.left[k.part()]++
		places = append(places, uint32(i)) //nolint:gosec // at most maxDocuments
	}
	return places
}

// admit reads the documents of a message, of which each must be one that is missing. It takes note of nothing.
func (ix *documentIndex) admit(m *tombolov1.Documents) ([]apidoc.Document, error) {
	if ix == nil || m.GetHash() != ix.hash {
		return nil, errors.New("documents of an index that the hub has not sent")
	}
	docs := make([]apidoc.Document, 0, len(m.GetDocuments()))
	for _, d := range m.GetDocuments() {
		k := documentKey{d.GetPath(), d.GetAccept()}
		if _, ok := ix.missing[k]; !ok {
			return nil, fmt.Errorf("document %q was not asked for", k)
		}
		body, err := apidoc.Unpack(d.GetBody())
		if err != nil {
			return nil, fmt.Errorf("document %q: %w", k, err)
		}
		doc := apidoc.Document{Path: k.path, Accept: k.accept, MediaType: d.GetMediaType(), ETag: d.GetEtag(), Body: body}
		if !ix.wants(doc) {
			return nil, fmt.Errorf("document %q does not have the hash that the index says", k)
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// arrived takes note that a document is there. It tells whether its part is complete now.
func (ix *documentIndex) arrived(k documentKey) (complete bool) {
	if _, ok := ix.missing[k]; !ok {
		return false
	}
	delete(ix.missing, k)
	ix.left[k.part()]--
	return ix.left[k.part()] == 0
}
