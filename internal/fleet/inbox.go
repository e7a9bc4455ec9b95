package fleet

import (
	"bytes"
	"hash/maphash"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// message is a message from a hub. It is immutable, because edges that were sent the same have the same one.
type message struct {
	raw        []byte
	response   *tombolov1.SyncResponse
	operations []*tombolov1.Operation // of a batch, out of its frame if it has one
	broken     error                  // an ErrNonsense, why there are none
}

// prefix is how many bytes gRPC sends before each message.
const prefix = 5

// inbox decodes messages. A hub sends the same bytes to many edges, one after the other: only the first decodes them.
type inbox struct {
	whole bool // frames were not agreed on
	seed  maphash.Seed
	slots [256]atomic.Pointer[message] // by a hash of the bytes
}

// shared bounds the messages of which edges share what was decoded, and what is in their frames, in bytes: with 256 of
// them, what the inbox holds on to.
const shared = 32 << 10

func newInbox(whole bool) *inbox { return &inbox{whole: whole, seed: maphash.MakeSeed()} }

// decode decodes a message, and keeps nothing of raw.
func (i *inbox) decode(raw []byte) (*message, error) {
	if len(raw) > shared {
		return i.open(raw)
	}
	slot := &i.slots[maphash.Bytes(i.seed, raw)%uint64(len(i.slots))]
	if m := slot.Load(); m != nil && bytes.Equal(m.raw, raw) {
		return m, nil
	}
	m, err := i.open(bytes.Clone(raw))
	if err == nil && m.response.GetBatch().GetFramedSize() <= shared {
		slot.Store(m)
	}
	return m, err
}

// open decodes a message that no edge has had lately.
func (i *inbox) open(raw []byte) (*message, error) {
	m := &message{raw: raw, response: &tombolov1.SyncResponse{}}
	if err := proto.Unmarshal(raw, m.response); err != nil {
		return nil, nonsense("a message that can't be decoded: %w", err)
	}
	if b := m.response.GetBatch(); b != nil {
		m.operations, m.broken = i.unpack(b)
	}
	return m, nil
}

// unpack returns the operations of a batch, out of its frame if it has one.
func (i *inbox) unpack(b *tombolov1.Batch) ([]*tombolov1.Operation, error) {
	if len(b.GetFrame()) == 0 {
		return b.GetOperations(), nil
	}
	if i.whole || len(b.GetOperations()) > 0 {
		return nil, nonsense("a frame, which was not agreed on")
	}
	all := &tombolov1.Operations{}
	text, err := delta.AppendText(nil, b.GetFrame(), b.GetFramedSize())
	if err == nil {
		err = proto.Unmarshal(text, all)
	}
	if err != nil {
		return nil, nonsense("%w", err)
	}
	return all.GetOperations(), nil
}
