package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
)

func hello() *tls.ClientHelloInfo { return &tls.ClientHelloInfo{} }

// stateOf is the state of a connection to who has a certificate.
func stateOf(t *testing.T, cert *tls.Certificate) (s tls.ConnectionState) {
	t.Helper()
	for _, der := range cert.Certificate {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		s.PeerCertificates = append(s.PeerCertificates, c)
	}
	return s
}

func poolOf(certs ...*x509.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, c := range certs {
		p.AddCert(c)
	}
	return p
}
