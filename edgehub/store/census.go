package store

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"
)

// census counts what would not be missed otherwise: nothing refers to a resource or a document, so a page that lost one
// looks as good as before.
type census struct{ resources, documents uint64 }

const censusSize = 2 * 8

func readCensus(tx *bbolt.Tx) (census, error) {
	v, err := unseal(keyCensus, tx.Bucket(bucketStore).Get(keyCensus))
	if err != nil {
		return census{}, err
	}
	if len(v) != censusSize {
		return census{}, fmt.Errorf("%w: census of %d bytes", ErrCorrupt, len(v))
	}
	return census{resources: binary.BigEndian.Uint64(v), documents: binary.BigEndian.Uint64(v[8:])}, nil
}

func (c census) write(tx *bbolt.Tx) error {
	v := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, c.resources), c.documents)
	return tx.Bucket(bucketStore).Put(keyCensus, seal(keyCensus, v))
}

// adjustCensus stores what fn makes of the census.
func adjustCensus(tx *bbolt.Tx, fn func(*census)) error {
	c, err := readCensus(tx)
	if err != nil {
		return err
	}
	fn(&c)
	return c.write(tx)
}

// complete fails with ErrCorrupt unless as many are there as were counted.
func complete(what string, there int, counted uint64) error {
	if uint64(there) == counted {
		return nil
	}
	return fmt.Errorf("%w: %d %s, should be %d", ErrCorrupt, there, what, counted)
}
