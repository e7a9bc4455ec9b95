package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrWoken is returned by Next when Wake was called. The connection and its stream go on.
var ErrWoken = errors.New("woken")

// Conn is a connection to a gRPC server. All but Close and Wake belong to one goroutine.
type Conn struct {
	cfg       Config
	authority string
	sock      net.Conn // Close and Wake use it, from any goroutine
	rw        net.Conn // sock, or TLS over it
	deadline  time.Time
	woken     bool     // Wake was called inside a frame
	s         *scratch // nil while waiting
	head      [9]byte  // of the frame under way

	stream  uint32 // the open stream's number; 0: none
	last    uint32 // the number of the stream that was opened last
	reset   bool   // the server has reset that one, or it was never opened
	replied bool   // its headers have come
	ended   error  // how it ended, told when the messages before are taken
	leaving bool   // the server takes no more streams
	in      assembler

	taken, takenStream int   // bytes received, for which no window was given yet
	room, streamRoom   int64 // what the server takes now
	peerWindow         int64 // what it takes of a new stream
	peerFrame          int   // the largest frame that it takes
}

// Dial connects to host:port, up to and with the TLS handshake. The first bytes of HTTP/2 go with those of Open.
func Dial(ctx context.Context, addr string, cfg Config) (*Conn, error) {
	sock, err := (&net.Dialer{KeepAlive: -1}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, unavailable(err)
	}
	if cfg.Wrap != nil {
		sock = cfg.Wrap(sock)
	}
	c := newConn(sock, addr, cfg)
	if err := c.handshake(ctx, addr); err != nil {
		_ = sock.Close()
		return nil, err
	}
	return c, nil
}

func newConn(sock net.Conn, authority string, cfg Config) *Conn {
	return &Conn{
		cfg: cfg, authority: authority, sock: sock, rw: sock, in: assembler{limit: cfg.maxMessage()}, reset: true,
		room: initialWindow, peerWindow: initialWindow, peerFrame: frameSize,
	}
}

func (c *Conn) handshake(ctx context.Context, addr string) error {
	if c.cfg.TLS == nil {
		return nil
	}
	cfg := c.cfg.TLS.Clone()
	cfg.NextProtos = []string{"h2"}
	if cfg.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return unavailable(err)
		}
		cfg.ServerName = host
	}
	c.cfg.TLS = nil // not needed any more
	conn := tls.Client(c.sock, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		return unavailable(fmt.Errorf("TLS: %w", err))
	}
	if p := conn.ConnectionState().NegotiatedProtocol; p != "h2" {
		return unavailable(fmt.Errorf("TLS: the server speaks %q, not h2", p))
	}
	c.rw = conn
	return nil
}

// Close closes the connection. It may be called from any goroutine, and more than once; Next fails then.
func (c *Conn) Close() { _ = c.sock.Close() }

// Wake lets Next return ErrWoken soon, unless SetDeadline is called meanwhile. It may be called from any goroutine.
func (c *Conn) Wake() { _ = c.sock.SetReadDeadline(time.Unix(1, 0)) }

// SetDeadline bounds Next and Open. The zero value means that they wait for as long as it takes.
func (c *Conn) SetDeadline(t time.Time) {
	c.deadline = t
	_ = c.sock.SetDeadline(t)
}

// Rest answers the server's pings until the time has come. It is for a connection without a stream. Errors: the
// connection is lost, or the server takes no more streams.
func (c *Conn) Rest(until time.Time) error {
	c.SetDeadline(until)
	defer c.SetDeadline(time.Time{})
	for !c.leaving {
		c.release()
		switch err := c.frame(); {
		case errors.Is(err, errTimeout):
			return nil
		case err != nil && !errors.Is(err, ErrWoken):
			return err
		}
	}
	return status.Error(codes.Unavailable, "the server is going away")
}

// unavailable is what the loss of a connection is.
func unavailable(err error) error { return status.Error(codes.Unavailable, err.Error()) }
