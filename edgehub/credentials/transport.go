package credentials

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/tombolo-sync/tombolo/internal/pki"
)

// Transport returns what a gRPC client is to use. Each handshake is with the newest certificate and authorities.
func (i *Identity) Transport() credentials.TransportCredentials {
	return &transport{TransportCredentials: credentials.NewTLS(baseConfig()), config: func(host string) *tls.Config {
		m := i.current.Load()
		cfg := baseConfig()
		cfg.ClientSessionCache = m.sessions
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return m.certificate(), nil }
		cfg.VerifyConnection = func(s tls.ConnectionState) error { return verify(s, host, m.pool, &i.clock, m.leaf()) }
		return cfg
	}}
}

// baseConfig verifies nothing by itself: what is built on it brings a VerifyConnection, which is called in every handshake,
// resumed ones too. crypto/tls would do it by a clock that may be wrong.
func baseConfig() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true} //nolint:gosec // see above
}

// transport makes a configuration for each handshake.
type transport struct {
	credentials.TransportCredentials
	config func(host string) *tls.Config
}

// ClientHandshake is with the host of an authority, "host:port".
func (t *transport) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	host, _, err := net.SplitHostPort(authority)
	if err != nil {
		host = authority
	}
	return credentials.NewTLS(t.config(host)).ClientHandshake(ctx, authority, raw)
}

// Clone returns the same: nothing of it changes.
func (t *transport) Clone() credentials.TransportCredentials { return t }

// verify fails unless the other side is the host, by one of the roots. past are certificates whose beginning is past for sure.
func verify(s tls.ConnectionState, host string, roots *x509.CertPool, c *clock, past ...*x509.Certificate) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the hub has no certificate")
	}
	leaf, between := s.PeerCertificates[0], x509.NewCertPool()
	for _, cert := range s.PeerCertificates[1:] {
		between.AddCert(cert)
	}
	now := c.at(append(past, s.PeerCertificates...)...)
	_, err := leaf.Verify(x509.VerifyOptions{
		DNSName: host, Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return fmt.Errorf("the hub's certificate: %w", err)
	}
	return nil
}

// pinned verifies a hub by hashes of its authority, which the hub sends along.
func pinned(s tls.ConnectionState, host string, pins []pki.Pin, c *clock) error {
	roots, found := x509.NewCertPool(), false
	for _, cert := range s.PeerCertificates {
		for _, p := range pins {
			if p.Matches(cert) {
				roots.AddCert(cert)
				found = true
			}
		}
	}
	if !found {
		return errors.New("the hub's certificate is of an authority that does not have the hash given")
	}
	return verify(s, host, roots, c)
}
