package litesrv

import (
	"encoding/binary"
	"math/bits"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// protobufMagic begins what kube-apiserver stores and sends in protobuf (apimachinery pkg/runtime/serializer/protobuf).
// Behind it is a runtime.Unknown: what kind of message there is, and the message.
const protobufMagic = "k8s\x00"

// The tags of the fields that are written here, all of which are delimited by their length.
const (
	tagFirst  = 1<<3 | 2
	tagSecond = 2<<3 | 2
)

// unknownEnd is the end of a runtime.Unknown: no content encoding, no content type.
const unknownEnd = "\x1a\x00\x22\x00"

// uvarintSize returns the number of bytes of n as varint.
func uvarintSize(n int) int { return (bits.Len64(uint64(n)|1) + 6) / 7 }

// fieldSize returns the size of a field of n bytes with its tag and length.
func fieldSize(n int) int { return 1 + uvarintSize(n) + n }

// appendFieldHead begins a field of n bytes.
func appendFieldHead(dst []byte, tag byte, n int) []byte {
	return binary.AppendUvarint(append(dst, tag), uint64(n))
}

func appendField(dst []byte, tag byte, value string) []byte {
	return append(appendFieldHead(dst, tag, len(value)), value...)
}

// typeMeta is the kind of a message, beside which it is sent.
type typeMeta struct{ apiVersion, kind string }

func (t typeMeta) size() int { return fieldSize(len(t.apiVersion)) + fieldSize(len(t.kind)) }

// envelopeSize returns the size of a message of n bytes in its envelope.
func (t typeMeta) envelopeSize(n int) int {
	return len(protobufMagic) + fieldSize(t.size()) + fieldSize(n) + len(unknownEnd)
}

// appendEnvelope begins the envelope of a message of n bytes, which is to be followed by unknownEnd.
func (t typeMeta) appendEnvelope(dst []byte, n int) []byte {
	dst = appendFieldHead(append(dst, protobufMagic...), tagFirst, t.size())
	dst = appendField(appendField(dst, tagFirst, t.apiVersion), tagSecond, t.kind)
	return appendFieldHead(dst, tagSecond, n)
}

// appendMessage appends a message in its envelope: the body of an answer.
func (t typeMeta) appendMessage(dst, message []byte) []byte {
	dst = append(t.appendEnvelope(dst, len(message)), message...)
	return append(dst, unknownEnd...)
}

// appendFrame appends a frame of a watch: its length in four bytes, and a WatchEvent with the message in its envelope
// inside a RawExtension.
func (t typeMeta) appendFrame(dst []byte, verb string, message []byte) []byte {
	raw := t.envelopeSize(len(message))
	size := fieldSize(len(verb)) + fieldSize(fieldSize(raw))
	dst = appendField(binary.BigEndian.AppendUint32(dst, uint32(size)), tagFirst, verb)
	dst = appendFieldHead(dst, tagSecond, fieldSize(raw))
	return t.appendMessage(appendFieldHead(dst, tagFirst, raw), message)
}

// statusMessage returns a Status as message.
func statusMessage(s *metav1.Status) (typeMeta, []byte) {
	message, err := s.Marshal()
	if err != nil {
		panic(err) // a Status has nothing that can't be encoded
	}
	return typeMeta{"v1", "Status"}, message
}
