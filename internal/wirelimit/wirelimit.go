// Package wirelimit bounds how many fields a protobuf message may have, before memory is taken for it.
//
// An empty message among many takes two bytes on the wire and a hundred in memory, so that a bound of bytes says little.
package wirelimit

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Max is how many fields a message may have, those of messages inside it included. The largest that is of use is an index
// of 20,000 API documents, or a batch of 4,096 removals.
const Max = 1 << 17

// ErrTooMany is returned for a message with more than Max fields.
var ErrTooMany = errors.New("the message has too many fields")

// maxDepth bounds messages inside messages. The protocol has five at most.
const maxDepth = 16

// Check fails for the encoding of a message that has too many fields, or is none.
func Check(d protoreflect.MessageDescriptor, raw []byte) error {
	left := Max
	return check(d, raw, &left, maxDepth)
}

func check(d protoreflect.MessageDescriptor, raw []byte, left *int, depth int) error {
	if depth == 0 {
		return ErrTooMany
	}
	for len(raw) > 0 {
		number, kind, tag := protowire.ConsumeTag(raw)
		if tag < 0 {
			return fmt.Errorf("a field: %w", protowire.ParseError(tag))
		}
		size := protowire.ConsumeFieldValue(number, kind, raw[tag:])
		if size < 0 {
			return fmt.Errorf("field %d: %w", number, protowire.ParseError(size))
		}
		if err := field(d, number, kind, raw[tag:tag+size], left, depth); err != nil {
			return err
		}
		raw = raw[tag+size:]
	}
	return nil
}

// field counts a field, and what is in it.
func field(
	d protoreflect.MessageDescriptor, number protowire.Number, kind protowire.Type, value []byte, left *int, depth int,
) error {
	if *left--; *left < 0 {
		return ErrTooMany
	}
	f := d.Fields().ByNumber(number)
	if f == nil || kind != protowire.BytesType {
		return nil
	}
	inner, n := protowire.ConsumeBytes(value)
	switch {
	case n < 0:
		return fmt.Errorf("field %d: %w", number, protowire.ParseError(n))
	case f.Message() != nil:
		return check(f.Message(), inner, left, depth-1)
	case f.IsPacked():
		if *left -= len(inner) / 8; *left < 0 { // a number takes eight bytes in memory at most
			return ErrTooMany
		}
	}
	return nil
}
