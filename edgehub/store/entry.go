package store

import (
	"encoding/binary"
	"fmt"
)

// entry is a value of index and staged: which body, at which revision.
type entry struct {
	id  uint64 // 0: a staged deletion
	rev uint64 // 0: a staged deletion of unknown revision
}

const entrySize = 16

func (e entry) encode() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(make([]byte, 0, entrySize), e.id), e.rev)
}

func decodeEntry(v []byte) (entry, error) {
	if len(v) != entrySize {
		return entry{}, fmt.Errorf("%w: entry of %d bytes", ErrCorrupt, len(v))
	}
	return entry{id: binary.BigEndian.Uint64(v), rev: binary.BigEndian.Uint64(v[8:])}, nil
}
