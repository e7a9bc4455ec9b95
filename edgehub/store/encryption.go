package store

import (
	"bytes"
	"fmt"

	"go.etcd.io/bbolt"
)

// Encryption says which objects are encrypted in the file.
type Encryption string

// The kinds of Encryption. What an older session wrote otherwise is written anew by Open.
const (
	EncryptNothing Encryption = ""
	EncryptSecrets Encryption = "secrets"
	EncryptAll     Encryption = "all"
)

// keyCipher, in the store bucket, is the id of the key that objects are encrypted with. It is absent when none are.
var keyCipher = []byte("cipher")

// vault seals and opens the bodies of one resource.
type vault struct {
	keys   *Keys // nil: nothing can be opened
	with   *key  // nil: what is written is not encrypted
	prefix []byte
}

// vault returns that of a resource, by its name.
func (o *Options) vault(name string) vault {
	v := vault{keys: o.Keys, prefix: append([]byte(name), 0)}
	if o.encrypts(name) {
		v.with = &o.Keys.all[0]
	}
	return v
}

func (o *Options) encrypts(name string) bool {
	return o.Keys != nil && (o.Encryption == EncryptAll || o.Encryption == EncryptSecrets && name == "secrets")
}

// where names a body for good: ids are never used twice.
func (v *vault) where(key []byte) []byte { return append(bytes.Clone(v.prefix), key...) }

// seal returns a body as it is stored. The checksum is of what is stored: one of the text would tell about it.
func (v *vault) seal(key []byte, parts ...[]byte) []byte {
	if v.with == nil {
		return seal(key, parts...)
	}
	return seal(key, v.with.encrypt(v.where(key), parts...))
}

// unseal returns what is in a stored body. It may be a part of value.
func (v *vault) unseal(key, value []byte) ([]byte, error) {
	payload, err := unseal(key, value)
	if err != nil {
		return nil, err
	}
	return v.keys.decrypt(v.where(key), payload)
}

// current tells whether a stored body is as seal would make it now.
func (v *vault) current(value []byte) bool {
	if len(value) < crcSize {
		return true // which whoever reads it will complain about
	}
	id, ok := isSealed(value[crcSize:])
	return ok == (v.with != nil) && (!ok || id == v.with.id)
}

// verifyKeys fails with ErrNoKey when the file is encrypted with a key that is not among those given.
func verifyKeys(tx *bbolt.Tx, keys *Keys) error {
	v := tx.Bucket(bucketStore).Get(keyCipher)
	if v == nil {
		return nil
	}
	raw, err := unseal(keyCipher, v)
	if err != nil {
		return err
	}
	if len(raw) != idSize {
		return fmt.Errorf("%w: key id %x", ErrCorrupt, raw)
	}
	if id := [idSize]byte(raw); keys.find(id) == nil {
		return fmt.Errorf("%w: %x", ErrNoKey, id)
	}
	return nil
}

// cipherMark returns what is to be stored under keyCipher, nil for nothing.
func (o *Options) cipherMark() []byte {
	if o.Keys == nil || o.Encryption == EncryptNothing {
		return nil
	}
	return seal(keyCipher, o.Keys.all[0].id[:])
}
