package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/tombolo-sync/tombolo/internal/pki"
)

const (
	// Name is that of the folder in an edge's data directory.
	Name = "local"
	// caLife is how long the authority lasts. It is replaced when a certificate would outlast it.
	caLife = 20 * 365 * 24 * time.Hour
	// life is how long its certificates last. They are renewed when a third is left.
	life = 90 * 24 * time.Hour
	// past is by how much a clock of this machine may be ahead of what it will say after it was set.
	past = 24 * time.Hour
)

// Authority signs. It is not changed once it is open.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Open reads the authority of a folder, and makes one if there is none or it ends too soon. Errors: a file can't be read or
// written, is not what it should be, or can be read by others.
func Open(dir string) (*Authority, error) {
	a, err := load(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && time.Until(a.cert.NotAfter) < 2*life {
		return create(dir)
	}
	return a, err
}

func load(dir string) (*Authority, error) {
	certFile, keyFile := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca.key")
	info, err := os.Stat(keyFile)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: others can read it (mode %04o)", keyFile, info.Mode().Perm())
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", certFile, err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, fmt.Errorf("%s: not an authority of an edge", certFile)
	}
	return &Authority{cert: pair.Leaf, key: key}, nil
}

func create(dir string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template("tombolo edge", caLife)
	t.IsCA, t.BasicConstraintsValid, t.MaxPathLenZero = true, true, true
	t.KeyUsage = x509.KeyUsageCertSign
	a := &Authority{cert: t, key: key}
	der, err := a.sign(t, key)
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	// The key first: a certificate without its key is an error at the next start, a key without a certificate is made anew.
	if err := errors.Join(writeKey(filepath.Join(dir, "ca.key"), key),
		writeFile(filepath.Join(dir, "ca.pem"), pki.EncodeCertificates([]*x509.Certificate{a.cert}))); err != nil {
		return nil, err
	}
	return a, nil
}

// Certificate returns the authority's own.
func (a *Authority) Certificate() *x509.Certificate { return a.cert }

// issue returns a certificate with a key of its own.
func (a *Authority) issue(t *x509.Certificate) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := a.sign(t, key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

func (a *Authority) sign(t *x509.Certificate, key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate for %s: %w", t.Subject.CommonName, err)
	}
	return der, nil
}

func template(name string, life time.Duration, groups ...string) *x509.Certificate {
	serial := make([]byte, 16)
	_, _ = rand.Read(serial) // never fails
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), Subject: pkix.Name{CommonName: name, Organization: groups},
		NotBefore: now.Add(-past), NotAfter: now.Add(life),
	}
}

// Pool returns the authority as one of client certificates.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}
