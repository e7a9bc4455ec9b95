package syncsrv

import (
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that ours goes on to
	"google.golang.org/grpc/mem"
)

// encoded is a message that is encoded already. Who sends it gives it away.
type encoded mem.BufferSlice

// codec is gRPC's for protobuf, which passes on what is encoded already.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Marshal returns the bytes of a message.
func (c codec) Marshal(m any) (mem.BufferSlice, error) {
	if e, ok := m.(encoded); ok {
		return mem.BufferSlice(e), nil
	}
	return c.CodecV2.Marshal(m)
}
