package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

var (
	// ErrLocked is returned by Open when another process has the file open.
	ErrLocked = errors.New("the file is in use by another process")
	// ErrNewerFormat is returned by Open for a file that a newer program wrote. Nothing of it was touched.
	ErrNewerFormat = errors.New("the file was written by a newer version of this program")
)

// format is the version of the layout below.
const format = 1

// lockTimeout is how long Open waits for another process to let go of the file.
const lockTimeout = time.Second

// The layout of the file:
//
//	meta     format, rev: 8 bytes big endian; epoch: text
//	objects  one bucket per resource ("pods", "deployments.apps"): key -> JSON as it is served
//
// The revision is stored, never derived: it counts on across deletions.
var (
	bucketMeta    = []byte("meta")
	bucketObjects = []byte("objects")
	keyFormat     = []byte("format")
	keyRev        = []byte("rev")
	keyEpoch      = []byte("epoch")
)

// file is the bbolt file that holds the cloud.
type file struct{ db *bolt.DB }

// openFile opens the file at path and makes one if there is none.
func openFile(path string) (*file, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: lockTimeout, FreelistType: bolt.FreelistMapType})
	if errors.Is(err, bolterrors.ErrTimeout) {
		err = ErrLocked
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	f := &file{db: db}
	if err := f.check(); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	return f, nil
}

// check looks at the format and lays out a new file.
func (f *file) check() error {
	var found uint64
	err := f.db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketMeta)
		if b == nil {
			return nil
		}
		if v := b.Get(keyFormat); len(v) == 8 {
			found = binary.BigEndian.Uint64(v)
			return nil
		}
		return errors.New("it does not say which format it has")
	})
	switch {
	case err != nil || found == format:
		return err
	case found > format:
		return fmt.Errorf("%w: format %d, known are those up to %d", ErrNewerFormat, found, format)
	}
	return f.db.Update(func(tx *bolt.Tx) error {
		if _, err := tx.CreateBucketIfNotExists(bucketObjects); err != nil {
			return err
		}
		meta, err := tx.CreateBucketIfNotExists(bucketMeta)
		if err != nil {
			return err
		}
		return putNumber(meta, keyFormat, format)
	})
}

func putNumber(b *bolt.Bucket, key []byte, n uint64) error {
	return b.Put(key, binary.BigEndian.AppendUint64(nil, n))
}

// state returns the revision and the epoch; zero values in a new file.
func (f *file) state() (rev uint64, epoch string, err error) {
	err = f.db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketMeta)
		epoch = string(b.Get(keyEpoch))
		if v := b.Get(keyRev); len(v) == 8 {
			rev = binary.BigEndian.Uint64(v)
		}
		if rev == 0 && epoch != "" {
			return errors.New("the file has lost its revision")
		}
		return nil
	})
	return rev, epoch, err
}

// load calls each with every stored object of a resource, in key order. raw is a copy.
func (f *file) load(resource string, each func(key string, raw []byte) error) error {
	return f.db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketObjects).Bucket([]byte(resource))
		if b == nil {
			return nil
		}
		return b.ForEach(func(k, v []byte) error { return each(string(k), append([]byte(nil), v...)) })
	})
}

// row is a change of one object in the file.
type row struct {
	resource, key string
	raw           []byte // nil when the object is deleted
}

// commit writes rows and the revision after them in one transaction. When it returns without an error they are on disk.
func (f *file) commit(rev uint64, rows []row) error {
	return f.db.Update(func(tx *bolt.Tx) error {
		objects := tx.Bucket(bucketObjects)
		for i := range rows {
			if err := rows[i].write(objects); err != nil {
				return fmt.Errorf("%s %s: %w", rows[i].resource, rows[i].key, err)
			}
		}
		return putNumber(tx.Bucket(bucketMeta), keyRev, rev)
	})
}

func (r *row) write(objects *bolt.Bucket) error {
	b, err := objects.CreateBucketIfNotExists([]byte(r.resource))
	if err != nil {
		return err
	}
	if r.raw == nil {
		return b.Delete([]byte(r.key))
	}
	return b.Put([]byte(r.key), r.raw)
}

// setEpoch stores the identity of the cloud.
func (f *file) setEpoch(epoch string) error {
	return f.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Put(keyEpoch, []byte(epoch)) })
}

func (f *file) close() error { return f.db.Close() }
