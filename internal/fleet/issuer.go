package fleet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"
)

// Issuer makes edges' certificates in memory. Who has a CA's key can be any edge: it is for labs.
type Issuer struct {
	ca   *x509.Certificate
	sign any // the CA's key
	pool *x509.CertPool
	key  *ecdsa.PrivateKey // the edges', one for all
}

// certificateLife is how long a certificate is good for. It is made for one handshake.
const certificateLife = 24 * time.Hour

// NewIssuer reads a CA's certificate and key from PEM files. Errors: a file can't be read, or does not hold what it
// should.
func NewIssuer(certFile, keyFile string) (*Issuer, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("CA: %w", err)
	}
	ca, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("CA %s: %w", certFile, err)
	}
	if !ca.IsCA {
		return nil, fmt.Errorf("CA %s: the certificate is not a CA's", certFile)
	}
	pem, err := os.ReadFile(certFile) //nolint:gosec // the operator says where
	if err != nil {
		return nil, fmt.Errorf("CA: %w", err)
	}
	i := &Issuer{ca: ca, sign: pair.PrivateKey, pool: x509.NewCertPool()}
	if !i.pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("CA: no certificate in " + certFile)
	}
	if i.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("edges' key: %w", err)
	}
	return i, nil
}

// TLS returns an edge's. Its certificate is made anew for each handshake that needs one, and not kept.
func (i *Issuer) TLS(edge string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: i.pool,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return i.issue(edge) },
	}
}

func (i *Issuer) issue(edge string) (*tls.Certificate, error) {
	now := time.Now()
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: edge},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, i.ca, &i.key.PublicKey, i.sign)
	if err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", edge, err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: i.key}, nil
}
