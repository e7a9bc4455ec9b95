package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// rewriteStep is how many bytes a transaction of a rewrite writes, more or less.
const rewriteStep = 4 << 20

// encrypt writes the file anew if it holds anything otherwise than it is to be encrypted: pages that are free now, and may still
// have what was in them, are not in the new file. It takes the old one's place as a whole. Files that were set aside are removed:
// they are as they were. The directory is locked and the file verified.
func (s *Store) encrypt() error {
	due := false
	err := readFile(s.path, &s.opts, func(tx *bbolt.Tx) (err error) {
		due, err = s.opts.outdated(tx)
		return err
	})
	if err != nil || !due {
		return err
	}
	s.opts.Logger.Info("writing the data file anew, for its encryption", "file", s.path, "encryption", string(s.opts.Encryption))
	next := s.path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := s.copyTo(next); err != nil {
		return errors.Join(fmt.Errorf("write %s anew: %w", s.path, err), os.Remove(next))
	}
	if err := s.opts.step(StepEncrypt); err != nil {
		return err
	}
	if err := os.Rename(next, s.path); err != nil {
		return err
	}
	old, err := filepath.Glob(s.path + asideInfix + "*")
	for _, name := range old {
		err = errors.Join(err, os.Remove(name))
	}
	return errors.Join(err, syncDir(filepath.Dir(s.path)))
}

// outdated tells whether anything in the file is encrypted otherwise than o says.
func (o *Options) outdated(tx *bbolt.Tx) (bool, error) {
	if !bytes.Equal(tx.Bucket(bucketStore).Get(keyCipher), o.cipherMark()) {
		return true, nil
	}
	if o.Keys == nil {
		return false, nil
	}
	due := false
	err := eachResource(tx, func(r *resource) error {
		v := o.vault(r.name)
		for c, k, value := first(r.bodies); k != nil && !due; k, value = c.Next() {
			due = !v.current(value)
		}
		return nil
	})
	return due, err
}

func first(b *bbolt.Bucket) (c *bbolt.Cursor, k, v []byte) {
	c = b.Cursor()
	k, v = c.First()
	return c, k, v
}

func (s *Store) copyTo(path string) error {
	to, err := openBolt(path, &s.opts, false)
	if err != nil {
		return err
	}
	err = readFile(s.path, &s.opts, func(from *bbolt.Tx) error {
		w := &rewriter{db: to, opts: &s.opts}
		return w.run(from)
	})
	return errors.Join(err, to.Close())
}

// rewriter copies a file.
type rewriter struct {
	db   *bbolt.DB
	opts *Options
	tx   *bbolt.Tx
	size int // of what tx has written
}

func (w *rewriter) run(from *bbolt.Tx) (err error) {
	if w.tx, err = w.db.Begin(true); err != nil {
		return err
	}
	defer func() { _ = w.tx.Rollback() }() // it only says that the transaction is over
	err = from.ForEach(func(name []byte, b *bbolt.Bucket) error { return w.bucket([][]byte{name}, b) })
	if err != nil {
		return err
	}
	return w.finish()
}

// finish writes how the file is encrypted, and commits.
func (w *rewriter) finish() error {
	b := w.tx.Bucket(bucketStore)
	err := b.Delete(keyCipher)
	if mark := w.opts.cipherMark(); mark != nil {
		err = b.Put(keyCipher, mark)
	}
	if err = errors.Join(err, setFormat(w.tx, w.opts)); err != nil {
		return err
	}
	return w.tx.Commit()
}

// bucket copies the bucket at path, and what is in it.
func (w *rewriter) bucket(path [][]byte, b *bbolt.Bucket) error {
	to, err := w.at(path)
	if err != nil {
		return err
	}
	if err := to.SetSequence(b.Sequence()); err != nil {
		return err
	}
	convert := w.converter(path)
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			return w.bucket(append(path[:len(path):len(path)], k), b.Bucket(k))
		}
		v, err := convert(k, v)
		if err != nil {
			return err
		}
		if w.size += len(k) + len(v); w.size > rewriteStep {
			if err := w.turn(); err != nil {
				return err
			}
		}
		if to, err = w.at(path); err != nil {
			return err
		}
		return to.Put(k, v)
	})
}

// turn commits what there is and begins another transaction.
func (w *rewriter) turn() (err error) {
	w.size = 0
	if err = w.tx.Commit(); err == nil {
		w.tx, err = w.db.Begin(true)
	}
	return err
}

// at returns a bucket of the new file, which it creates if need be.
func (w *rewriter) at(path [][]byte) (*bbolt.Bucket, error) {
	b, err := w.tx.CreateBucketIfNotExists(path[0])
	for _, name := range path[1:] {
		if err != nil {
			return nil, err
		}
		b, err = b.CreateBucketIfNotExists(name)
	}
	if err == nil {
		b.FillPercent = appendFill
	}
	return b, err
}

// converter returns what makes of the values in a bucket those of the new file: bodies are opened and sealed again.
func (w *rewriter) converter(path [][]byte) func(k, v []byte) ([]byte, error) {
	if len(path) != 3 || !bytes.Equal(path[0], bucketResources) || !bytes.Equal(path[2], bucketBodies) {
		return func(_, v []byte) ([]byte, error) { return v, nil }
	}
	vault := w.opts.vault(string(path[1]))
	return func(k, v []byte) ([]byte, error) {
		if vault.current(v) {
			return v, nil
		}
		plain, err := vault.unseal(k, v)
		if err != nil {
			return nil, err
		}
		return vault.seal(k, plain), nil
	}
}
