package store

import (
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// KeepArrivals makes docs durable beside the API documents of the store, which they are to become a part of once others
// have come too: see PutDocuments. One with the path and Accept of another takes its place.
func (tx *Tx) KeepArrivals(docs []apidoc.Document) error {
	b, err := tx.tx.CreateBucketIfNotExists(bucketArrivals)
	if err != nil {
		return fmt.Errorf("arrivals: %w", err)
	}
	for _, d := range docs {
		if err := checkDocument(d); err != nil {
			return err
		}
		key := documentKey(d)
		if err := b.Put([]byte(key), encodeDocument(d)); err != nil {
			return fmt.Errorf("document %q: %w", key, err)
		}
	}
	return nil
}

// DropArrivals forgets docs, which KeepArrivals kept.
func (tx *Tx) DropArrivals(docs []apidoc.Document) error {
	b := tx.tx.Bucket(bucketArrivals)
	for _, d := range docs {
		if b == nil {
			break
		}
		if err := b.Delete([]byte(documentKey(d))); err != nil {
			return fmt.Errorf("document %q: %w", documentKey(d), err)
		}
	}
	return nil
}

// Arrivals returns what KeepArrivals kept, ordered by path and Accept.
func (s *Store) Arrivals() ([]apidoc.Document, error) {
	var docs []apidoc.Document
	err := s.view(func(tx *bbolt.Tx) error {
		return eachArrival(tx, func(k, v []byte) error {
			d, err := decodeDocument(k, v)
			docs = append(docs, d)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return docs, nil
}

// eachArrival calls fn for every arrival. Files of an older version have no bucket for them.
func eachArrival(tx *bbolt.Tx, fn func(k, v []byte) error) error {
	if b := tx.Bucket(bucketArrivals); b != nil {
		return each(b, "arrivals", fn)
	}
	return nil
}
