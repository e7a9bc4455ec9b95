package pki

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Bundle is the certificates of authorities in PEM files, read again when a file changes. It is safe for concurrent use.
type Bundle struct {
	paths []string

	mu      sync.Mutex // guards all below
	certs   []*x509.Certificate
	pool    *x509.CertPool
	changed []time.Time // modification times of the files that certs are of
	looked  time.Time   // when the files were last looked at
}

// lookEvery is how old what is known of the files may be: they are not looked at for each of many connections.
const lookEvery = 500 * time.Millisecond

// NewBundle reads the files, each once. Errors: there are none, one can't be read, or one holds no certificate.
func NewBundle(paths ...string) (*Bundle, error) {
	b := &Bundle{paths: paths}
	if len(paths) == 0 {
		return nil, errors.New("CA: no file is named")
	}
	return b, b.read()
}

// Certificates returns the newest certificates, none of them twice. While a file is being replaced, or is broken, those of before go on
// being used.
func (b *Bundle) Certificates() []*x509.Certificate {
	certs, _ := b.newest()
	return certs
}

// Pool returns the same as a pool.
func (b *Bundle) Pool() *x509.CertPool {
	_, pool := b.newest()
	return pool
}

// newest looks at the files, unless that was just done, and returns what is in force.
func (b *Bundle) newest() ([]*x509.Certificate, *x509.CertPool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); now.Sub(b.looked) >= lookEvery {
		b.looked = now
		if b.staleLocked() {
			_ = b.readLocked() // what is held stays in force
		}
	}
	return b.certs, b.pool
}

func (b *Bundle) staleLocked() bool {
	for i, p := range b.paths {
		if info, err := os.Stat(p); err != nil || !info.ModTime().Equal(b.changed[i]) {
			return true
		}
	}
	return false
}

func (b *Bundle) read() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.readLocked()
}

func (b *Bundle) readLocked() error {
	var certs []*x509.Certificate
	changed := make([]time.Time, len(b.paths))
	for i, p := range b.paths {
		info, err := os.Stat(p)
		if err != nil {
			return fmt.Errorf("CA: %w", err)
		}
		data, err := os.ReadFile(p) //nolint:gosec // the operator says where
		if err != nil {
			return fmt.Errorf("CA: %w", err)
		}
		more, err := ParseCertificates(data)
		if err != nil {
			return fmt.Errorf("CA: %s: %w", p, err)
		}
		certs, changed[i] = append(certs, more...), info.ModTime()
	}
	b.certs, b.changed = unique(certs), changed
	b.pool = x509.NewCertPool()
	for _, c := range b.certs {
		b.pool.AddCert(c)
	}
	return nil
}

func unique(certs []*x509.Certificate) (out []*x509.Certificate) {
	seen := map[[sha256.Size]byte]bool{}
	for _, c := range certs {
		if sum := sha256.Sum256(c.Raw); !seen[sum] {
			seen[sum] = true
			out = append(out, c)
		}
	}
	return out
}

// ParseCertificates returns the certificates in PEM, in their order. Errors: there is none, or one does not parse.
func ParseCertificates(data []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		out = append(out, cert)
	}
	if len(out) == 0 {
		return nil, errors.New("no certificate in it")
	}
	return out, nil
}

// EncodeCertificates returns certificates in PEM.
func EncodeCertificates(certs []*x509.Certificate) []byte {
	var out bytes.Buffer
	for _, c := range certs {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // a buffer takes everything
	}
	return out.Bytes()
}

// Hash identifies certificates in their order: SHA-256 over them, in DER.
func Hash(certs []*x509.Certificate) []byte {
	h := sha256.New()
	for _, c := range certs {
		h.Write(c.Raw)
	}
	return h.Sum(nil)
}
