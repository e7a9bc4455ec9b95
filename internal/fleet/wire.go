package fleet

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/stats"
)

const (
	// maxMessage bounds a message in both directions, as at an edgehub.
	maxMessage   = 16 << 20
	streamWindow = 64 << 10
	readBuffer   = 0 // TLS has one of its own
	writeBuffer  = 2 << 10
)

// dialOptions are those of an edgehub, but for smaller buffers.
func (e *edge) dialOptions(l *link) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(e.credentials),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithStaticStreamWindowSize(streamWindow), grpc.WithStaticConnWindowSize(streamWindow),
		grpc.WithReadBufferSize(readBuffer), grpc.WithWriteBufferSize(writeBuffer),
		grpc.WithStatsHandler(messages{l}),
		grpc.WithContextDialer(e.dial),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(), grpc.WithDisableHealthCheck(),
	}
}

func (e *edge) dial(ctx context.Context, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	e.conn.Store(&c)
	return counted{c, &e.f.stats}, nil
}

// counted is a connection whose bytes are counted, TLS and frames included.
type counted struct {
	net.Conn
	stats *tally
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.stats.wireIn.Add(int64(n))
	return n, err
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.stats.wireOut.Add(int64(n))
	return n, err
}

// messages counts the bytes of a session's messages.
type messages struct{ l *link }

func (messages) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (messages) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (messages) HandleConn(context.Context, stats.ConnStats)                       {}

func (m messages) HandleRPC(_ context.Context, s stats.RPCStats) {
	switch s := s.(type) {
	case *stats.InPayload: // called by Recv
		m.l.size = s.WireLength
		m.l.e.f.stats.bytesIn.Add(int64(s.WireLength))
	case *stats.OutPayload:
		m.l.e.f.stats.bytesOut.Add(int64(s.WireLength))
	}
}
