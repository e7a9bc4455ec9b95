package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/tombolo-sync/tombolo/cloudhub/throttle"
	"github.com/tombolo-sync/tombolo/internal/pki"
)

// maxSkew is how far ahead of our clock a certificate may begin: clocks of hubs differ, and the one that signed it is right.
const maxSkew = 5 * time.Minute

// untrusted is the fault of a certificate that is not accepted.
type untrusted struct{ error }

func (u untrusted) Unwrap() error { return u.error }

// Credentials returns what a gRPC server is to use.
func (g *Gate) Credentials() credentials.TransportCredentials {
	cfg := g.cfg.TLS.Clone()
	cfg.MinVersion = tls.VersionTLS13
	// The certificate is verified by us, in every handshake and at every resumption.
	cfg.ClientAuth, cfg.ClientCAs, cfg.VerifyPeerCertificate = tls.RequestClientCert, nil, nil
	cfg.VerifyConnection = g.verify
	if own := cfg.GetCertificate; g.cfg.Pins != nil && own != nil {
		cfg.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return g.certificate(own, hello) }
	}
	return door{credentials.NewTLS(cfg), g}
}

// certificate returns the hub's certificate, with its authorities for who has only a hash of one.
func (g *Gate) certificate(
	own func(*tls.ClientHelloInfo) (*tls.Certificate, error), hello *tls.ClientHelloInfo,
) (*tls.Certificate, error) {
	cert, err := own(hello)
	if err != nil || !slices.Contains(hello.SupportedProtos, pki.PinProtocol) {
		return cert, err
	}
	whole := *cert
	whole.Certificate = slices.Clone(cert.Certificate)
	for _, authority := range g.cfg.Pins() {
		whole.Certificate = append(whole.Certificate, authority.Raw)
	}
	return &whole, nil
}

// verify decides whether a handshake succeeds.
func (g *Gate) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		if g.cfg.Anonymous == "" {
			return untrusted{errors.New("no client certificate")}
		}
		return nil
	}
	leaf, between := state.PeerCertificates[0], x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	if leaf.Subject.CommonName == "" {
		return untrusted{errors.New("the certificate has no common name")}
	}
	if err := g.chain(leaf, between, time.Now()); err != nil {
		return untrusted{fmt.Errorf("the certificate for %.100q: %w", leaf.Subject.CommonName, err)}
	}
	return nil
}

// chain fails for a certificate that no authority of edges stands for at a time, or for one that expired too long before.
func (g *Gate) chain(leaf *x509.Certificate, between *x509.CertPool, now time.Time) error {
	switch {
	case leaf.NotBefore.After(now) && leaf.NotBefore.Sub(now) <= maxSkew:
		now = leaf.NotBefore
	case now.After(leaf.NotAfter) && g.cfg.Lapsed != "" && now.Sub(leaf.NotAfter) <= g.cfg.Grace:
		now = leaf.NotAfter
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: g.cfg.Authorities(), Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

// door is the gate as gRPC sees it.
type door struct {
	credentials.TransportCredentials
	gate *Gate
}

var (
	errStayAway = errors.New("too many failed attempts from this address")
	errCrowded  = errors.New("too many connections without a certificate that is good for something")
)

// ServerHandshake takes a connection in. Its error closes the connection.
func (d door) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	from := party(raw.RemoteAddr())
	if d.gate.unwelcome(from) {
		d.gate.metrics.refused("throttled")
		return nil, nil, errStayAway
	}
	leave := d.gate.call(raw)
	conn, info, err := d.TransportCredentials.ServerHandshake(raw)
	leave()
	if err != nil {
		if u := (untrusted{}); errors.As(err, &u) {
			d.gate.refuse(refusal{peer: raw.RemoteAddr().String(), party: from, reason: u.Error(), label: "untrusted"})
		}
		return nil, nil, err
	}
	c := &Conn{Conn: conn, gate: d.gate, CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}
	now := time.Now()
	if tlsInfo, ok := info.(credentials.TLSInfo); ok && len(tlsInfo.State.PeerCertificates) > 0 {
		c.identify(tlsInfo.State.PeerCertificates[0], now)
	}
	if !d.gate.keep(c, now) {
		_ = conn.Close() // refused
		d.gate.metrics.refused("crowded")
		return nil, nil, errCrowded
	}
	return c, c, nil
}

// call notes that a handshake is under way until leave is called.
func (g *Gate) call(raw net.Conn) (leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.callers.PushBack(raw)
	if g.callers.Len() > maxCallers {
		oldest := g.callers.Front()
		g.callers.Remove(oldest)
		_ = oldest.Value.(net.Conn).Close() // its handshake fails
		g.metrics.refused("crowded")
	}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.callers.Remove(e) // no matter when it was removed already
	}
}

// ClientHandshake is none of a gate's.
func (d door) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("identity: a gate is for servers")
}

// Clone returns the same: nothing of it changes.
func (d door) Clone() credentials.TransportCredentials { return d }

// unwelcome tells whether an address has failed too often. Where edges come from nobody is kept out: a bad neighbour behind
// the same address must not lock them out.
func (g *Gate) unwelcome(from string) bool {
	if g.fails.Wait(from) == 0 {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_, friend := g.friends[from]
	return !friend
}

// party names an address in budgets.
func party(addr net.Addr) string { return "address " + throttle.Address(addr) }

// authorityName names who signed a certificate, for metrics: by the key's id, or by name.
func authorityName(leaf *x509.Certificate) string {
	if len(leaf.AuthorityKeyId) > 0 {
		return hex.EncodeToString(leaf.AuthorityKeyId)
	}
	return leaf.Issuer.CommonName
}
