package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"go.etcd.io/bbolt"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// PutDocuments makes docs the API documents of the store, in place of all that were there. Those that are there already
// are not written again. Of several with the same path and Accept the last one counts. A path must not be empty and,
// like an Accept, must not hold a zero byte.
func (tx *Tx) PutDocuments(docs []apidoc.Document) error {
	b := tx.tx.Bucket(bucketDocuments)
	values := make(map[string][]byte, len(docs))
	for _, d := range docs {
		if err := checkDocument(d); err != nil {
			return err
		}
		values[documentKey(d)] = encodeDocument(d)
	}
	if err := dropOthers(b, values); err != nil {
		return err
	}
	for key, v := range values {
		if bytes.Equal(b.Get([]byte(key)), v) {
			continue
		}
		if err := b.Put([]byte(key), v); err != nil {
			return fmt.Errorf("document %q: %w", key, err)
		}
	}
	return adjustCensus(tx.tx, func(c *census) { c.documents = uint64(len(values)) })
}

// checkDocument tells whether a document can be stored.
func checkDocument(d apidoc.Document) error {
	if d.Path == "" || strings.ContainsRune(d.Path+d.Accept, 0) {
		return fmt.Errorf("document with path %q and accept %q can't be stored", d.Path, d.Accept)
	}
	return nil
}

// dropOthers deletes the keys of b that are not in keep.
func dropOthers(b *bbolt.Bucket, keep map[string][]byte) error {
	var old [][]byte
	err := each(b, "documents", func(k, _ []byte) error {
		if _, ok := keep[string(k)]; !ok {
			old = append(old, bytes.Clone(k))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, k := range old {
		if err := b.Delete(k); err != nil {
			return fmt.Errorf("document %q: %w", k, err)
		}
	}
	return nil
}

// Documents returns the API documents, ordered by path and Accept.
func (s *Store) Documents() ([]apidoc.Document, error) {
	var docs []apidoc.Document
	err := s.view(func(tx *bbolt.Tx) error {
		err := each(tx.Bucket(bucketDocuments), "documents", func(k, v []byte) error {
			d, err := decodeDocument(k, v)
			docs = append(docs, d)
			return err
		})
		if err != nil {
			return err
		}
		counted, err := readCensus(tx)
		if err != nil {
			return err
		}
		return complete("documents", len(docs), counted.documents)
	})
	if err != nil {
		return nil, err
	}
	return docs, nil
}

// documentKey orders documents by path, then by Accept.
func documentKey(d apidoc.Document) string { return d.Path + "\x00" + d.Accept }

// encodeDocument returns the value stored for d: what its key does not say.
func encodeDocument(d apidoc.Document) []byte {
	b := appendText(appendText(nil, d.MediaType), d.ETag)
	return seal([]byte(documentKey(d)), appendBody(b, d.Body))
}

// decodeDocument returns the document stored as k and v, in memory of its own.
func decodeDocument(k, v []byte) (d apidoc.Document, err error) {
	path, accept, ok := bytes.Cut(k, []byte{0})
	if !ok {
		return d, fmt.Errorf("%w: document key %q", ErrCorrupt, k)
	}
	d.Path, d.Accept = string(path), string(accept)
	b, err := unseal(k, v)
	if err != nil {
		return d, err
	}
	for _, text := range []*string{&d.MediaType, &d.ETag} {
		if *text, b, err = cutText(b); err != nil {
			return d, fmt.Errorf("document %q: %w", k, err)
		}
	}
	if d.Body, err = readBody(bytes.Clone(b)); err != nil {
		return d, fmt.Errorf("document %q: %w", k, err)
	}
	return d, nil
}

// appendText appends s behind its length.
func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// cutText returns the text that appendText appended first and what follows it.
func cutText(b []byte) (text string, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return "", nil, fmt.Errorf("%w: text of %d bytes in %d", ErrCorrupt, n, len(b))
	}
	b = b[size:]
	return string(b[:n]), b[n:], nil
}
