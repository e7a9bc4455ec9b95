package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

// Check is CheckEncrypted of a file that is not encrypted.
func Check(dir string) (*Report, error) { return CheckEncrypted(dir, nil) }

// CheckEncrypted verifies everything in the data file of dir without changing it: the structure of its pages, checksums,
// references in both directions, the order of events, positions, and that every body decodes to the object that its key
// says. What it finds is in the report; an error says that it could not look: ErrLocked while a store has the file open,
// ErrNewerFormat, ErrNoKey, or that there is no file.
func CheckEncrypted(dir string, keys *Keys) (*Report, error) {
	r := &Report{Path: filepath.Join(dir, FileName)}
	o := atOnce(keys)
	err := readFile(r.Path, o, func(tx *bbolt.Tx) error {
		r.contents(tx, o)
		return nil
	})
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return nil, err
	}
	r.note(err)
	if info, err := os.Stat(r.Path); err == nil {
		r.Size = info.Size()
	}
	return r, nil
}

// atOnce returns the options with which a file is only read: one that is in use is not waited for.
func atOnce(keys *Keys) *Options {
	o := Options{LockTimeout: time.Nanosecond, Keys: keys}.withDefaults()
	return &o
}

// readFile runs fn on the data file at path, which no store may have open, after its pages and format were verified. What
// they, or bbolt as it reads them, have to complain about wraps ErrCorrupt.
func readFile(path string, o *Options, fn func(*bbolt.Tx) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return fmt.Errorf("%s: %w: empty", path, ErrCorrupt)
	}
	db, err := openBolt(path, o, true)
	if err != nil {
		return err
	}
	err = guard(func() error {
		return db.View(func(tx *bbolt.Tx) error {
			if err := verifyPages(tx, path); err != nil {
				return err
			}
			if err := verifyFormat(tx); err != nil {
				return err
			}
			if err := verifyKeys(tx, o.Keys); err != nil {
				return err
			}
			return fn(tx)
		})
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return errors.Join(err, db.Close())
}

// contents verifies what is in a file whose pages and format are verified.
func (r *Report) contents(tx *bbolt.Tx, o *Options) {
	for err := range tx.Check() {
		r.note(err)
	}
	r.Clean = isClean(tx)
	r.note(eachResource(tx, func(res *resource) error {
		res.vault = o.vault(res.name)
		r.Resources = append(r.Resources, (&checker{r: res, report: r}).run())
		return nil
	}))
	r.note(each(tx.Bucket(bucketDocuments), "documents", func(k, v []byte) error {
		r.Documents++
		r.note(verifyDocument(k, v))
		return nil
	}))
	r.note(eachArrival(tx, func(k, v []byte) error {
		r.note(verifyDocument(k, v))
		return nil
	}))
	r.note(each(tx.Bucket(bucketInfo), "info", func(k, v []byte) error {
		r.Infos++
		_, err := unseal(k, v)
		r.note(err)
		return nil
	}))
	counted, err := readCensus(tx)
	if err != nil {
		r.note(err)
		return
	}
	r.note(complete("resources", len(r.Resources), counted.resources))
	r.note(complete("documents", r.Documents, counted.documents))
}
