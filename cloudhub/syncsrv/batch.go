package syncsrv

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// batch is a Batch message: a few bytes of the session's own around a body that sessions share.
type batch struct {
	subscription  uint32
	upto, gapFrom uint64
	remaining     uint64
	more, prompt  bool
	live          bool   // it is of live events; not sent
	piece         *piece // the body; nil for a batch without operations
}

// The numbers of fields in sync.proto.
const (
	responseBatch protowire.Number = 3

	batchSubscription protowire.Number = 1
	batchUptoRev      protowire.Number = 3
	batchMore         protowire.Number = 4
	batchGapFrom      protowire.Number = 5
	batchPrompt       protowire.Number = 8
	batchRemaining    protowire.Number = 9
)

// maxBatchHead is how many bytes a batch has at most before its body.
const maxBatchHead = 64

// encode returns the SyncResponse that the batch is with a body, which may be nil. A body that is not worth the trouble is
// copied; another one comes back as rest, and is to be sent behind the buffer. Fields of a message may come in any order.
func (b *batch) encode(body *[]byte) (buf, rest *[]byte) {
	n := 0
	if body != nil {
		n = len(*body)
	}
	if body != nil && !mem.IsBelowBufferPoolingThreshold(cap(*body)) { // below it, gRPC would not give it back
		buf, rest = bufferFor(maxBatchHead), body
		*buf = b.appendHead((*buf)[:0], n)
		return buf, rest
	}
	buf = bufferFor(maxBatchHead + n)
	*buf = b.appendHead((*buf)[:0], n)
	if body != nil {
		*buf = append(*buf, *body...)
	}
	return buf, nil
}

// appendHead appends all but the body, which has so many bytes.
func (b *batch) appendHead(dst []byte, body int) []byte {
	var buf [maxBatchHead]byte
	own := appendUint(buf[:0], batchSubscription, uint64(b.subscription))
	own = appendUint(own, batchUptoRev, b.upto)
	own = appendUint(own, batchMore, protowire.EncodeBool(b.more))
	own = appendUint(own, batchGapFrom, b.gapFrom)
	own = appendUint(own, batchPrompt, protowire.EncodeBool(b.prompt))
	own = appendUint(own, batchRemaining, b.remaining)
	dst = protowire.AppendTag(dst, responseBatch, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(len(own)+body)) //nolint:gosec // lengths
	return append(dst, own...)
}

// appendUint appends a field, unless it has its default.
func appendUint(dst []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), v)
}
