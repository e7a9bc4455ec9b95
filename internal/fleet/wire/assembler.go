package wire

import (
	"encoding/binary"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// assembler cuts messages out of the payloads of DATA frames. A message that came in one frame is not copied.
type assembler struct {
	limit int    // of a message, in bytes
	rest  []byte // what has come and was not cut yet
	owned bool   // rest is not a frame's memory
	part  []byte // the beginning of a message of which the end is not in rest; its own memory
}

// prefixSize is the length of what stands before each message: whether it is compressed, and its length.
const prefixSize = 5

// add adds a frame's payload, which stays that of the frame until own is called.
func (a *assembler) add(payload []byte) {
	if len(a.rest) == 0 {
		a.rest, a.owned = payload, false
		return
	}
	a.own()
	a.rest = append(a.rest, payload...)
}

// own copies what is left of a frame.
func (a *assembler) own() {
	if len(a.rest) == 0 {
		a.rest = nil
	} else if !a.owned {
		a.rest = append([]byte(nil), a.rest...)
	}
	a.owned = true
}

// next returns the next message, nil when it is not all there. An empty one is not nil.
func (a *assembler) next() ([]byte, error) {
	if len(a.part) == 0 {
		size, err := a.size(a.rest)
		if err != nil {
			return nil, err
		}
		if end := prefixSize + size; size >= 0 && len(a.rest) >= end {
			m := a.rest[prefixSize:end:end]
			a.rest = a.rest[end:]
			return m, nil
		}
	}
	if len(a.rest) == 0 {
		return nil, nil
	}
	a.move(prefixSize)
	size, err := a.size(a.part)
	if err != nil || size < 0 {
		return nil, err
	}
	if a.move(prefixSize + size); len(a.part) < prefixSize+size {
		return nil, nil
	}
	m := a.part[prefixSize:]
	a.part = nil
	return m, nil
}

// move lets the part grow to n bytes, as far as there is something.
func (a *assembler) move(n int) {
	n = min(max(0, n-len(a.part)), len(a.rest))
	a.part, a.rest = append(a.part, a.rest[:n]...), a.rest[n:]
}

// size returns the length of the message that b begins with, -1 when the prefix is not all there.
func (a *assembler) size(b []byte) (int, error) {
	if len(b) < prefixSize {
		return -1, nil
	}
	if b[0] != 0 {
		return 0, status.Error(codes.Internal, "the server sends a compressed message, which was not agreed on")
	}
	n := binary.BigEndian.Uint32(b[1:])
	if int64(n) > int64(a.limit) {
		return 0, status.Errorf(codes.ResourceExhausted, "a message of %d bytes, %d are allowed", n, a.limit)
	}
	return int(n), nil
}
