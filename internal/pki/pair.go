package pki

import (
	"crypto/tls"
	"errors"
)

// Pair is a certificate and its key in PEM files, read again when the file of the certificate changes. It is safe for
// concurrent use.
type Pair struct{ pair *keyPair }

// NewPair reads the files. Errors: one is not named or can't be read, or they do not belong together.
func NewPair(cert, key string) (*Pair, error) {
	if cert == "" || key == "" {
		return nil, errors.New("a certificate and its key must be given together")
	}
	p := &Pair{pair: &keyPair{files: Files{Cert: cert, Key: key}}}
	_, err := p.Get()
	return p, err
}

// Get returns the newest pair. While the files are being replaced, or are broken, the one before goes on being used.
func (p *Pair) Get() (*tls.Certificate, error) { return p.pair.get() }
