package syncsrv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/logging"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/ratelimit"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/selector"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

const (
	// maxMessage bounds a message to an edge. etcd takes 1.5 MiB, which escaped in JSON can be six times as much.
	maxMessage = 16 << 20
	// maxObject bounds an object: one that is larger can't be sent, and stops its resource alone.
	maxObject = maxMessage - 64<<10
	// maxReceived bounds a message of an edge's. The largest is a part of an inventory: 2,000 items of less than 700 bytes.
	// gRPC holds what has come of a message until all of it is there, for each stream.
	maxReceived = 2 << 20
	// streamWindow and connWindow bound what an edge has sent and nobody has read yet; windows that grow by themselves
	// would let it fill the hub's memory.
	streamWindow = 128 << 10
	connWindow   = 1 << 20
	// readBuffer is none: TLS has one of its own.
	readBuffer = 0
	// maxMetadata bounds what comes before the messages of a stream, in bytes: edges send a few hundred.
	maxMetadata = 16 << 10
	sendBuffer  = 16 << 10
	// maxConns is how many connections an edge may have: the one that it uses, the one that it goes over to, and those
	// that broke without a word.
	maxConns = 4
)

// options are the gRPC server's: interceptors outermost first, keepalive that tolerates edges behind slow links and
// finds dead ones, small buffers because there is one connection per edge.
func (s *Server) options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(newConns(s.cfg.Credentials, maxConns)), grpc.ForceServerCodecV2(newCodec()), grpc.InTapHandle(s.cfg.Admit),
		grpc.ChainStreamInterceptor(
			s.metrics.stream,
			selector.StreamServerInterceptor(
				logging.StreamServerInterceptor(logger(s.log), logging.WithLogOnEvents(logging.FinishCall)),
				selector.MatchFunc(isCall),
			),
			ratelimit.StreamServerInterceptor(newTurnstile(s.cfg.OpenRate)),
			recovery.StreamServerInterceptor(recovery.WithRecoveryHandlerContext(s.recovered)),
		),
		grpc.MaxHeaderListSize(maxMetadata), grpc.MaxRecvMsgSize(maxReceived), grpc.MaxSendMsgSize(maxMessage),
		grpc.StaticStreamWindowSize(streamWindow), grpc.StaticConnWindowSize(connWindow),
		grpc.ReadBufferSize(readBuffer), grpc.WriteBufferSize(sendBuffer),
		grpc.MaxConcurrentStreams(s.cfg.MaxStreams),
		grpc.ConnectionTimeout(20 * time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 2 * time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 20 * time.Second, PermitWithoutStream: true}),
	}
}

// Serve accepts edges on lis until Shutdown, and then returns nil, also when Shutdown came first.
func (s *Server) Serve(lis net.Listener) error {
	if err := s.grpc.Serve(lis); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve edges on %s: %w", lis.Addr(), err)
	}
	return nil
}

// recovered turns a panic in a stream into the end of that stream alone.
func (s *Server) recovered(_ context.Context, p any) error {
	s.log.Error("stream panicked", "panic", p, "stack", string(debug.Stack()))
	s.metrics.panics.Inc()
	return status.Error(codes.Internal, "internal error")
}

// isCall tells whether a stream is anything but a session. Sessions log their own beginning and end; what a logging
// interceptor holds of each would be there as long as the session.
func isCall(_ context.Context, c interceptors.CallMeta) bool {
	return c.FullMethod() != tombolov1.SyncService_Sync_FullMethodName
}

// logger lets the interceptors write to l, one level down.
func logger(l *slog.Logger) logging.Logger {
	return logging.LoggerFunc(func(ctx context.Context, _ logging.Level, msg string, fields ...any) {
		l.Log(ctx, slog.LevelDebug, msg, fields...)
	})
}
