package authority

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"sync"
	"time"
)

// ServerName is what clients that know the authority ask for, whatever certificate others are shown.
const ServerName = "edge.tombolo.internal"

// Serving is the certificate that the local API shows. It is safe for concurrent use.
type Serving struct {
	authority *Authority
	names     []string

	mu  sync.Mutex // guards cur
	cur *tls.Certificate
}

// Serving returns a certificate for the names and addresses, and for this machine.
func (a *Authority) Serving(names ...string) *Serving {
	return &Serving{authority: a, names: append([]string{ServerName, "localhost", "127.0.0.1", "::1"}, names...)}
}

// Get returns the certificate, a new one when the last is about to end.
func (s *Serving) Get() (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cur != nil && time.Until(s.cur.Leaf.NotAfter) > life/3 {
		return s.cur, nil
	}
	t := template(s.names[len(s.names)-1], life)
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, n := range s.names {
		if ip := net.ParseIP(n); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, n)
		}
	}
	cert, err := s.authority.issue(t)
	if err != nil {
		return nil, err
	}
	s.cur = cert
	return cert, nil
}
