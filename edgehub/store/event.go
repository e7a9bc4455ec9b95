package store

import (
	"encoding/binary"
	"fmt"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// eventRecord is a stored watchlog.Event.
type eventRecord struct {
	typ    watchlog.EventType
	late   bool
	rev    uint64
	shown  uint64
	object uint64 // body of the new state; for Deleted of the last one
	prev   uint64 // body of the state before; 0 for Added, equal to object for Deleted
	key    string
}

const (
	eventFixed = 2 + 4*8 // the bytes before the key
	flagLate   = 1
)

func (e eventRecord) encode() []byte {
	b := make([]byte, 0, eventFixed+len(e.key))
	b = append(b, byte(e.typ), 0)
	if e.late {
		b[1] = flagLate
	}
	for _, n := range [...]uint64{e.rev, e.shown, e.object, e.prev} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return append(b, e.key...)
}

func decodeEvent(b []byte) (eventRecord, error) {
	if len(b) <= eventFixed {
		return eventRecord{}, fmt.Errorf("%w: event of %d bytes", ErrCorrupt, len(b))
	}
	e := eventRecord{
		typ:    watchlog.EventType(b[0]),
		late:   b[1] == flagLate,
		rev:    binary.BigEndian.Uint64(b[2:]),
		shown:  binary.BigEndian.Uint64(b[10:]),
		object: binary.BigEndian.Uint64(b[18:]),
		prev:   binary.BigEndian.Uint64(b[26:]),
		key:    string(b[eventFixed:]),
	}
	if b[1] > flagLate || e.rev == 0 || e.object == 0 || !e.versionsFit() {
		return eventRecord{}, fmt.Errorf("%w: event that makes no sense: %s of %q at %d", ErrCorrupt, e.typ, e.key, e.rev)
	}
	return e, nil
}

// versionsFit tells whether the event names the versions that its type asks for.
func (e eventRecord) versionsFit() bool {
	switch e.typ {
	case watchlog.Added:
		return e.prev == 0
	case watchlog.Modified:
		return e.prev != 0 && e.prev != e.object
	case watchlog.Deleted:
		return e.prev == e.object
	default:
		return false
	}
}
