package syncsrv

import (
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that ours goes on to
	"google.golang.org/grpc/mem"

	"github.com/tombolo-sync/tombolo/internal/wirelimit"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// encoded is a message that is encoded already. Who sends it gives it away.
type encoded mem.BufferSlice

// codec is gRPC's for protobuf, which passes on what is encoded already and takes no message from an edge that has too
// many fields.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Unmarshal decodes a message, unless it is an edge's and has too many fields.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*tombolov1.SyncRequest)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	if err := wirelimit.Check(m.ProtoReflect().Descriptor(), buf.ReadOnlyData()); err != nil {
		return err
	}
	return c.CodecV2.Unmarshal(mem.BufferSlice{buf}, v)
}

// Marshal returns the bytes of a message.
func (c codec) Marshal(m any) (mem.BufferSlice, error) {
	if e, ok := m.(encoded); ok {
		return mem.BufferSlice(e), nil
	}
	return c.CodecV2.Marshal(m)
}
