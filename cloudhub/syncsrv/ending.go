package syncsrv

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// endStream ends the stream that a handler serves, from outside of the handler: the peer is told err, and what the handler
// waits for on the stream fails. What the handler returns comes too late then. It does nothing when ctx is not that of a
// stream of gRPC's server.
func endStream(ctx context.Context, err error) {
	// grpc-go's own type of server streams; a server has no other way to end a stream than to return from its handler.
	stream, ok := grpc.ServerTransportStreamFromContext(ctx).(interface {
		WriteStatus(st *status.Status) error
	})
	if ok {
		_ = stream.WriteStatus(status.Convert(toStatus(err))) // an error is one of a stream that has ended
	}
}
