// Package pkitest makes certificates for tests.
package pkitest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/pki"
)

// CA signs certificates that are valid for an hour.
type CA struct {
	dir    string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64
}

// NewCA returns a new authority, with files in a temporary directory of the test.
func NewCA(t testing.TB) *CA {
	t.Helper()
	ca := &CA{dir: t.TempDir(), serial: 1}
	ca.key = newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
	}
	ca.cert = ca.sign(t, template, template, &ca.key.PublicKey)
	write(t, filepath.Join(ca.dir, "ca.pem"), "CERTIFICATE", ca.cert.Raw)
	der, err := x509.MarshalECPrivateKey(ca.key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(ca.dir, "ca-key.pem"), "EC PRIVATE KEY", der)
	return ca
}

// Files returns the PEM files of the authority itself.
func (ca *CA) Files() (cert, key string) {
	return filepath.Join(ca.dir, "ca.pem"), filepath.Join(ca.dir, "ca-key.pem")
}

// Certificate returns the authority's certificate.
func (ca *CA) Certificate() *x509.Certificate { return ca.cert }

// Pair returns the authority's certificate and key.
func (ca *CA) Pair() (*tls.Certificate, error) {
	return &tls.Certificate{Certificate: [][]byte{ca.cert.Raw}, PrivateKey: ca.key, Leaf: ca.cert}, nil
}

// Issue returns the files of a certificate for a common name, good for both sides of a connection on loopback.
func (ca *CA) Issue(t testing.TB, name string) pki.Files {
	t.Helper()
	ca.serial++
	key := newKey(t)
	cert := ca.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(ca.serial), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, DNSNames: []string{"localhost"},
	}, ca.cert, &key.PublicKey)
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	f := pki.Files{
		Cert: filepath.Join(ca.dir, name+".pem"), Key: filepath.Join(ca.dir, name+"-key.pem"), CA: filepath.Join(ca.dir, "ca.pem"),
	}
	write(t, f.Key, "EC PRIVATE KEY", der)
	write(t, f.Cert, "CERTIFICATE", cert.Raw)
	return f
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (ca *CA) sign(t testing.TB, template, parent *x509.Certificate, public *ecdsa.PublicKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func write(t testing.TB, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
