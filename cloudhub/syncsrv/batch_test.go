package syncsrv

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// decodeBatch returns the Batch that a batch is on the wire, its operations out of their frame.
func decodeBatch(t testing.TB, b batch) *tombolov1.Batch {
	t.Helper()
	var body *[]byte
	if b.piece != nil {
		var err error
		if body, err = b.piece.encoded(); err != nil {
			t.Fatal(err)
		}
	}
	buf, rest := b.encode(body)
	raw := *buf
	if rest != nil {
		raw = append(raw, *rest...)
	}
	m := &tombolov1.SyncResponse{}
	if err := proto.Unmarshal(raw, m); err != nil {
		t.Fatal(err)
	}
	return unframe(t, m.GetBatch())
}

// unframe takes the operations of a batch out of their frame.
func unframe(t testing.TB, b *tombolov1.Batch) *tombolov1.Batch {
	t.Helper()
	if b.GetFrame() == nil {
		return b
	}
	text, err := delta.AppendText(nil, b.GetFrame(), b.GetFramedSize())
	if err != nil {
		t.Fatal(err)
	}
	all := &tombolov1.Operations{}
	if err := proto.Unmarshal(text, all); err != nil {
		t.Fatal(err)
	}
	b.Operations, b.Frame, b.FramedSize = all.GetOperations(), nil, 0
	return b
}

// FuzzBatch: a session's bytes around a body that sessions share are read as the plain message with the same fields.
func FuzzBatch(f *testing.F) {
	f.Add(uint32(1), uint64(5), uint64(0), uint64(0), byte(0), 3, "ns/pod", []byte("{}"))
	f.Add(uint32(1<<31), uint64(1<<63), uint64(7), uint64(1<<40), byte(7), 200, "name", []byte(`{"kind":"Pod"}`))
	f.Add(uint32(0), uint64(0), uint64(0), uint64(0), byte(4), 0, "", []byte{})
	f.Fuzz(func(t *testing.T, id uint32, upto, gapFrom, remaining uint64, bits byte, n int, key string, data []byte) {
		want := &tombolov1.Batch{
			Subscription: id, UptoRev: upto, GapFrom: gapFrom, Remaining: remaining, More: bits&1 != 0, Prompt: bits&2 != 0,
		}
		for i := range max(0, n) % 300 {
			want.Operations = append(want.Operations, &tombolov1.Operation{
				Key: fmt.Sprint(key, i), Type: tombolov1.OperationType(i % 3), Rev: upto + uint64(i), Data: data, //nolint:gosec // small
			})
		}
		b := batch{
			subscription: id, upto: upto, gapFrom: gapFrom, remaining: remaining, more: bits&1 != 0, prompt: bits&2 != 0,
		}
		raw, err := proto.Marshal(want)
		if err != nil {
			return // no UTF-8
		}
		if len(want.GetOperations()) > 0 {
			b.piece = &piece{ops: want.GetOperations(), frames: bits&4 != 0}
		}
		plain := &tombolov1.Batch{}
		if err := proto.Unmarshal(raw, plain); err != nil {
			t.Fatal(err)
		}
		if got := decodeBatch(t, b); !proto.Equal(got, plain) {
			t.Errorf("%v, want %v", got, plain)
		}
		if n := len(b.appendHead(nil, maxMessage)); n > maxBatchHead {
			t.Errorf("a head of %d bytes", n)
		}
	})
}
