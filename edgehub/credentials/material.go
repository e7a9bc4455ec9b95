package credentials

import (
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// material is a certificate and what belongs to it. It never changes.
type material struct {
	chain       []*x509.Certificate // the edge's first
	key         crypto.Signer
	authorities []*x509.Certificate // of hubs
	pool        *x509.CertPool
	sessions    tls.ClientSessionCache // TLS sessions that were opened with this certificate
}

// sessionsKept is for how many hubs TLS sessions are kept.
const sessionsKept = 8

func newMaterial(chain []*x509.Certificate, key crypto.Signer, authorities []*x509.Certificate) *material {
	m := &material{chain: chain, key: key, authorities: authorities, pool: x509.NewCertPool()}
	for _, a := range authorities {
		m.pool.AddCert(a)
	}
	m.sessions = tls.NewLRUClientSessionCache(sessionsKept)
	return m
}

// with returns the same certificate with other authorities.
func (m *material) with(authorities []*x509.Certificate) *material {
	return newMaterial(m.chain, m.key, authorities)
}

func (m *material) leaf() *x509.Certificate { return m.chain[0] }

// certificate is what the edge shows in a handshake.
func (m *material) certificate() *tls.Certificate {
	c := &tls.Certificate{PrivateKey: m.key, Leaf: m.leaf()}
	for _, cert := range m.chain {
		c.Certificate = append(c.Certificate, cert.Raw)
	}
	return c
}

// dueAt is when a certificate is to be renewed: when two thirds of its life are over, or a little earlier, by a share (0 to 1) that
// keeps edges that joined together from coming together.
func dueAt(c *x509.Certificate, share float64) time.Time {
	life := c.NotAfter.Sub(c.NotBefore)
	return c.NotBefore.Add(life*2/3 - time.Duration(share*float64(life/20)))
}

// request returns a certificate request for a key, in DER. The hub knows the rest better.
func request(key crypto.Signer) ([]byte, error) {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	return der, nil
}

// receive returns what a hub answered to a request for a key. It fails for what the edge could not use; edge is the name
// that must be in it, "" for any.
func receive(c *tombolov1.Credential, key crypto.Signer, edge string) (*material, error) {
	chain, err := parse(c.GetCertificates())
	if err != nil {
		return nil, fmt.Errorf("the hub's answer: certificate: %w", err)
	}
	authorities, err := parse(c.GetAuthorities())
	if err != nil {
		return nil, fmt.Errorf("the hub's answer: authorities: %w", err)
	}
	switch name := chain[0].Subject.CommonName; {
	case !samePublic(chain[0].PublicKey, key.Public()):
		return nil, errors.New("the hub's answer: the certificate is for another key")
	case name == "" || edge != "" && name != edge:
		return nil, fmt.Errorf("the hub's answer: the certificate is for edge %q, not for %q", name, edge)
	}
	return newMaterial(chain, key, authorities), nil
}

// maxCertificates bounds what a hub may send.
const maxCertificates = 32

func parse(ders [][]byte) ([]*x509.Certificate, error) {
	if len(ders) == 0 || len(ders) > maxCertificates {
		return nil, fmt.Errorf("%d certificates", len(ders))
	}
	out := make([]*x509.Certificate, len(ders))
	for i, der := range ders {
		var err error
		if out[i], err = x509.ParseCertificate(der); err != nil {
			return nil, err
		}
	}
	return out, nil
}
