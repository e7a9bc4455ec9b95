package syncsrv

import (
	"context"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// farewell is how long a connection that is to be closed stays, so that the peer hears why.
const farewell = time.Second

// conns are a server's credentials that know its connections: of one certificate there are at most most at a time, of
// which the newest stay, and expel closes one.
type conns struct {
	credentials.TransportCredentials
	most  int
	turns *handshakes

	mu   sync.Mutex // guards open
	open map[string][]*link
}

func newConns(creds credentials.TransportCredentials, most int) *conns {
	return &conns{
		TransportCredentials: creds, most: most, turns: newHandshakes(runtime.GOMAXPROCS(0)), open: map[string][]*link{},
	}
}

// ServerHandshake is that of the credentials, and takes note of the connection.
func (c *conns) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	h := &handshaking{Conn: raw, of: c.turns}
	conn, info, err := c.TransportCredentials.ServerHandshake(h)
	h.end()
	if err != nil {
		return nil, nil, err
	}
	l := &link{Conn: conn, of: c, name: certified(info)}
	c.add(l)
	return l, info, nil
}

// certified returns the name in the certificate of a connection, "" when there is none.
func certified(info credentials.AuthInfo) string {
	switch info := info.(type) {
	case credentials.TLSInfo:
		if chains := info.State.VerifiedChains; len(chains) > 0 && len(chains[0]) > 0 {
			return chains[0][0].Subject.CommonName
		}
	case interface{ Edge() string }:
		return info.Edge()
	}
	return ""
}

func (c *conns) add(l *link) {
	if l.name == "" {
		return
	}
	c.mu.Lock()
	links := append(c.open[l.name], l)
	c.open[l.name] = links
	var oldest *link
	if len(links) > c.most {
		oldest = links[0]
	}
	c.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close() // it takes itself out; its reader hears of a fault
	}
}

func (c *conns) remove(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rest := slices.DeleteFunc(c.open[l.name], func(other *link) bool { return other == l })
	if c.open[l.name] = rest; len(rest) == 0 {
		delete(c.open, l.name)
	}
}

// link is a connection.
type link struct {
	net.Conn
	of   *conns
	name string // in the certificate; "" for none
}

// Close closes the connection.
func (l *link) Close() error {
	if l.name != "" {
		l.of.remove(l)
	}
	return l.Conn.Close()
}

// RemoteAddr is what gRPC shows of the other end, by which expel finds the connection.
func (l *link) RemoteAddr() net.Addr { return linkAddr{l.Conn.RemoteAddr(), l} }

// linkAddr is the address of the other end of a connection.
type linkAddr struct {
	net.Addr
	link *link
}

// expel closes the connection that a stream has come on, a moment later.
func expel(ctx context.Context) {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.Addr.(linkAddr); ok {
			time.AfterFunc(farewell, func() { _ = a.link.Close() }) // it may be closed already
		}
	}
}
