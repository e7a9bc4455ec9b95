package store

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"
)

// FileName is the name of the data file in its directory.
const FileName = "edge.db"

// format is the version of the layout. A file with a higher one is not touched; one with a lower one is read as it is, and
// gets this one with the first update. In format 1 bodies had no cells and resources no columns, which all may lack;
// in format 3 bodies may be encrypted.
const format = 3

// plainFormat is the version that a file without encrypted bodies gets, so that older programs can read it.
const plainFormat = 2

// Buckets at the root of the file, see the package comment.
var (
	bucketStore     = []byte("store")
	bucketResources = []byte("resources")
	bucketDocuments = []byte("documents")
	bucketArrivals  = []byte("arrivals")
	bucketInfo      = []byte("info")
)

// Keys in the store bucket.
var (
	keyFormat    = []byte("format")    // uint32
	keyClean     = []byte("clean")     // one byte: 1 when the file was closed in order and not opened since
	keyCensus    = []byte("census")    // see census
	keyConfirmed = []byte("confirmed") // uint64: transaction whose commit had to be confirmed by another
)

// initialise lays out an empty file.
func initialise(tx *bbolt.Tx, o *Options) error {
	for _, name := range [][]byte{bucketStore, bucketResources, bucketDocuments, bucketInfo} {
		if _, err := tx.CreateBucket(name); err != nil {
			return fmt.Errorf("create bucket %s: %w", name, err)
		}
	}
	if err := setFormat(tx, o); err != nil {
		return err
	}
	if err := (census{}).write(tx); err != nil {
		return err
	}
	return setClean(tx, true)
}

// setFormat says which format the file has.
func setFormat(tx *bbolt.Tx, o *Options) error {
	version := uint32(plainFormat)
	if o.cipherMark() != nil {
		version = format
	}
	return tx.Bucket(bucketStore).Put(keyFormat, seal(keyFormat, binary.BigEndian.AppendUint32(nil, version)))
}

// verifyFormat fails with ErrNewerFormat or ErrCorrupt when the file is not one that this program can use.
func verifyFormat(tx *bbolt.Tx) error {
	b := tx.Bucket(bucketStore)
	if b == nil {
		return fmt.Errorf("%w: not the data file of an edge", ErrCorrupt)
	}
	v, err := unseal(keyFormat, b.Get(keyFormat))
	if err != nil {
		return err
	}
	if len(v) != 4 {
		return fmt.Errorf("%w: format %x", ErrCorrupt, v)
	}
	if have := binary.BigEndian.Uint32(v); have > format {
		return fmt.Errorf("%w: %d, this program knows up to %d", ErrNewerFormat, have, format)
	}
	for _, name := range [][]byte{bucketResources, bucketDocuments, bucketInfo} {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("%w: no bucket %s", ErrCorrupt, name)
		}
	}
	return nil
}

// isClean tells whether the file was closed in order and not written since.
func isClean(tx *bbolt.Tx) bool {
	v := tx.Bucket(bucketStore).Get(keyClean)
	return len(v) == 1 && v[0] == 1
}

func setClean(tx *bbolt.Tx, clean bool) error {
	v := []byte{0}
	if clean {
		v[0] = 1
	}
	return tx.Bucket(bucketStore).Put(keyClean, v)
}

// each calls fn for every entry of a bucket. A nested bucket among them, or a missing bucket, is corruption.
func each(b *bbolt.Bucket, name string, fn func(k, v []byte) error) error {
	if b == nil {
		return fmt.Errorf("%w: no bucket %s", ErrCorrupt, name)
	}
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			return fmt.Errorf("%w: bucket %q inside %s", ErrCorrupt, k, name)
		}
		return fn(k, v)
	})
}
