package store

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
)

const (
	keySize = 32 // of AES-256
	idSize  = 4
	// sealedMark is what a payload begins with that is encrypted: no JSON does.
	sealedMark = 0xe1
	// sealedExtra is by how much an encrypted payload is longer than what is in it: mark, key id, nonce, tag.
	sealedExtra = 1 + idSize + 12 + 16
)

// Keys encrypt objects in the file: the first one what is written, all of them open what was. They are immutable and safe for
// concurrent use. A nonce is random, so no more than 2^32 versions of objects should be written with one key.
type Keys struct{ all []key }

type key struct {
	id   [idSize]byte // tells keys apart, and nothing about them
	aead cipher.AEAD
}

// ParseKeys reads keys: 32 bytes, or lines of 32 bytes in base64, empty lines and those that begin with # aside.
func ParseKeys(data []byte) (*Keys, error) {
	if len(data) == keySize {
		return newKeys(data)
	}
	var all [][]byte
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(string(line))
		if err != nil || len(raw) != keySize {
			return nil, fmt.Errorf("key %d is not 32 bytes in base64", len(all)+1) // and not shown
		}
		all = append(all, raw)
	}
	return newKeys(all...)
}

func newKeys(raw ...[]byte) (*Keys, error) {
	if len(raw) == 0 {
		return nil, errors.New("there is no key in it")
	}
	k := &Keys{}
	for _, r := range raw {
		block, err := aes.NewCipher(r)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(append([]byte("tombolo key id\x00"), r...))
		next := key{id: [idSize]byte(sum[:idSize]), aead: aead}
		if k.find(next.id) != nil {
			return nil, errors.New("a key is in it twice")
		}
		k.all = append(k.all, next)
	}
	return k, nil
}

func (k *Keys) find(id [idSize]byte) *key {
	if k == nil {
		return nil
	}
	for i := range k.all {
		if k.all[i].id == id {
			return &k.all[i]
		}
	}
	return nil
}

// encrypt returns a payload, given in parts, as it is stored: bound to where it is, so that none can stand in for another.
func (k *key) encrypt(where []byte, parts ...[]byte) []byte {
	plain := bytes.Join(parts, nil)
	out := append(make([]byte, 0, len(plain)+sealedExtra), sealedMark)
	return k.aead.Seal(append(out, k.id[:]...), nil, plain, where) //nolint:gosec // the nonce is random, and the AEAD's own to make
}

// isSealed tells whether a payload is encrypted, and by which key.
func isSealed(payload []byte) (id [idSize]byte, ok bool) {
	if len(payload) < sealedExtra || payload[0] != sealedMark {
		return id, false
	}
	return [idSize]byte(payload[1:]), true
}

// decrypt returns what encrypt was given, or the payload itself when that is not encrypted.
func (k *Keys) decrypt(where, payload []byte) ([]byte, error) {
	id, ok := isSealed(payload)
	if !ok {
		return payload, nil
	}
	with := k.find(id)
	if with == nil {
		return nil, fmt.Errorf("%w: %x", ErrNoKey, id)
	}
	plain, err := with.aead.Open(nil, nil, payload[1+idSize:], where)
	if err != nil {
		return nil, fmt.Errorf("%w: an encrypted record does not open", ErrCorrupt)
	}
	return plain, nil
}
