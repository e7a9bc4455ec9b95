package store

import (
	"fmt"

	"go.etcd.io/bbolt"
)

// Tx is what the function given to Store.Update writes with. It is valid until that function returns and belongs to its
// goroutine.
type Tx struct {
	tx   *bbolt.Tx
	opts *Options
}

// SetInfo stores a small fact by name; an empty value forgets it. The name must not be empty.
func (tx *Tx) SetInfo(key, value string) error {
	b := tx.tx.Bucket(bucketInfo)
	var err error
	if value == "" {
		err = b.Delete([]byte(key))
	} else {
		err = b.Put([]byte(key), seal([]byte(key), []byte(value)))
	}
	if err != nil {
		return fmt.Errorf("info %q: %w", key, err)
	}
	return nil
}

// Info returns the fact that SetInfo stored by that name, "" when there is none.
func (s *Store) Info(key string) (string, error) {
	var value string
	err := s.view(func(tx *bbolt.Tx) error {
		v := tx.Bucket(bucketInfo).Get([]byte(key))
		if v == nil {
			return nil
		}
		b, err := unseal([]byte(key), v)
		value = string(b)
		return err
	})
	return value, err
}
