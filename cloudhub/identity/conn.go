package identity

import (
	"crypto"
	"crypto/x509"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
)

// Conn is a connection that came in through a Gate, and what gRPC knows of its other end. All but what is atomic never
// changes.
type Conn struct {
	net.Conn
	credentials.CommonAuthInfo

	gate *Gate
	// edge is the name in the certificate; "" for a connection without one.
	edge      string
	notBefore time.Time
	notAfter  time.Time
	key       crypto.PublicKey
	authority string // key id of who signed the certificate
	serial    string
	// ours is set for a certificate that a hub has signed.
	ours bool
	// lapsed is set for a certificate that had expired when the connection was made.
	lapsed bool
	// superseded is set for a certificate older than one that was used when the connection was made.
	superseded bool
	// barred is set for a certificate that was revoked, or may be, when the connection was made.
	barred bool

	leave    func()       // the pool that the connection is in; nil for none. To be called with the gate's lock
	streams  atomic.Int32 // that were admitted, of a connection without a certificate
	read     atomic.Int64 // bytes that came, of a connection without a certificate
	until    atomic.Int64 // when it is to be closed, in Unix milliseconds
	expelled atomic.Bool  // that it is to be closed was written down
	closing  sync.Once
}

// edgesOrganization marks the certificates that hubs sign. It is also the group of the edges' users in the cloud.
const edgesOrganization = "tombolo:edges"

// identify takes down who has shown a certificate.
func (c *Conn) identify(leaf *x509.Certificate, now time.Time) {
	c.edge, c.key = leaf.Subject.CommonName, leaf.PublicKey
	c.notBefore, c.notAfter = leaf.NotBefore, leaf.NotAfter
	c.authority, c.serial = authorityName(leaf), leaf.SerialNumber.Text(16)
	c.ours = len(leaf.Subject.Organization) == 1 && leaf.Subject.Organization[0] == edgesOrganization
	c.lapsed = now.After(leaf.NotAfter)
}

// AuthType is the kind of security, as gRPC asks for it.
func (c *Conn) AuthType() string { return "tls" }

// Name returns the name in the certificate, "" when there is none.
func (c *Conn) Name() string { return c.edge }

// Edge returns the name of the edge whose connection it is, "" when the certificate is good for nothing, or for no more than
// to be renewed: who holds such a one must not be able to crowd out the edge.
func (c *Conn) Edge() string {
	if c.lapsed || c.superseded || c.barred {
		return ""
	}
	return c.edge
}

// NotBefore and NotAfter are those of the certificate.
func (c *Conn) NotBefore() time.Time { return c.notBefore }

// NotAfter is when the certificate ends, or has ended: see Lapsed.
func (c *Conn) NotAfter() time.Time { return c.notAfter }

// Lapsed tells whether the certificate had expired when the connection was made.
func (c *Conn) Lapsed() bool { return c.lapsed }

// Key is the certificate's public key.
func (c *Conn) Key() crypto.PublicKey { return c.key }

// Authority is the X.509 key id of who signed the certificate, in hexadecimal.
func (c *Conn) Authority() string { return c.authority }

// leaveBy has the connection closed at a time, unless that was to happen earlier already.
func (c *Conn) leaveBy(at time.Time) {
	for {
		old := c.until.Load()
		if at.UnixMilli() >= old || c.until.CompareAndSwap(old, at.UnixMilli()) {
			return
		}
	}
}

// Close closes the connection and takes it off the gate's list.
func (c *Conn) Close() error {
	c.closing.Do(func() { c.gate.forget(c) })
	return c.Conn.Close()
}

var errTooMuch = errors.New("too many bytes on a connection without a certificate")

// Read reads what the other end sends. Without a certificate it may send no more than joining takes, whatever it is: gRPC
// holds what has come of a header or of a message until all of it is there.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.edge == "" && c.read.Add(int64(n)) > anonymousBytes {
		return 0, errTooMuch
	}
	return n, err
}

// keep puts a connection on the list; false when there is no room for it. One whose other end may do nothing, or next to it, has
// little time, and there are few of them.
func (g *Gate) keep(c *Conn, now time.Time) bool {
	c.barred = c.edge != "" && errors.Is(g.standing(c), ErrBarred)
	from := party(c.RemoteAddr())
	g.mu.Lock()
	defer g.mu.Unlock()
	c.superseded = c.ours && c.notBefore.Before(g.newest[c.edge])
	if c.Edge() != "" {
		g.befriendLocked(from)
		c.until.Store(c.notAfter.UnixMilli())
		g.conns[c] = struct{}{}
		return true
	}
	pool := &g.anonymous
	if c.edge != "" {
		pool = &g.limited
	}
	if !pool.enter(from) {
		return false
	}
	c.leave = func() { pool.leave(from) }
	c.until.Store(now.Add(limitedFor).UnixMilli())
	g.conns[c] = struct{}{}
	return true
}

// befriendLocked notes that an edge comes from an address. Should there be too many, they show again.
func (g *Gate) befriendLocked(address string) {
	if len(g.friends) >= maxFriends {
		clear(g.friends)
	}
	g.friends[address] = struct{}{}
}

func (g *Gate) forget(c *Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, held := g.conns[c]; held && c.leave != nil {
		c.leave()
	}
	delete(g.conns, c)
}

// used notes that a certificate of ours is in use: older ones of the edge are not accepted any more on new connections.
func (g *Gate) used(c *Conn) {
	if !c.ours {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.notBefore.After(g.newest[c.edge]) {
		g.newest[c.edge] = c.notBefore
	}
}
