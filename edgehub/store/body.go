package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// putBody stores the JSON of an object and its cells, one right behind the other, under a new id.
func (r *resource) putBody(o *watchlog.Object) (uint64, error) {
	id, err := r.bodies.NextSequence()
	if err != nil {
		return 0, err
	}
	key := number(id)
	return id, r.bodies.Put(key, r.vault.seal(key, o.JSON(), o.Cells()))
}

// dropBody frees a body, which is there.
func (r *resource) dropBody(id uint64) error {
	return r.bodies.Delete(number(id))
}

// bodySize returns the number of bytes of JSON and cells in a body.
func (r *resource) bodySize(id uint64) (int, error) {
	v := r.bodies.Get(number(id))
	if len(v) < crcSize {
		return 0, fmt.Errorf("%w: no body %d", ErrCorrupt, id)
	}
	size := len(v) - crcSize
	if _, ok := isSealed(v[crcSize:]); ok {
		size -= sealedExtra
	}
	return size, nil
}

// isBody tells whether the body id holds exactly the bytes and cells of o.
func (r *resource) isBody(id uint64, o *watchlog.Object) bool {
	if size, err := r.bodySize(id); err != nil || size != o.Size() {
		return false
	}
	k := number(id)
	v, err := r.vault.unseal(k, r.bodies.Get(k))
	if err != nil || len(v) != o.Size() {
		return false
	}
	cells := len(o.JSON())
	return bytes.Equal(v[:cells], o.JSON()) && bytes.Equal(v[cells:], o.Cells())
}

// decodeID returns the id or number that a key stands for.
func decodeID(k []byte) (uint64, error) {
	if len(k) != 8 {
		return 0, fmt.Errorf("%w: key %x is not a number", ErrCorrupt, k)
	}
	return binary.BigEndian.Uint64(k), nil
}

// find returns the entry at key in b, which is index or staged; ok is false when there is none.
func find(b interface{ Get([]byte) []byte }, key string) (e entry, ok bool, err error) {
	v := b.Get([]byte(key))
	if v == nil {
		return entry{}, false, nil
	}
	e, err = decodeEntry(v)
	return e, err == nil, err
}
