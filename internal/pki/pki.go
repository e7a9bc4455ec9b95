// Package pki loads certificates from files and keeps up with their replacement.
package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Files are the PEM files of one side of a mutual TLS connection.
type Files struct {
	Cert, Key string // what this side shows
	CA        string // what the other side's certificate must be signed by
}

// Given tells whether any file is named.
func (f Files) Given() bool { return f != Files{} }

// Client returns the TLS configuration of a side that connects, and resumes sessions. The certificate is read again when its
// file changes.
// Errors: a file is not named, can't be read, or does not hold what it should.
func (f Files) Client() (*tls.Config, error) {
	pair, pool, err := f.load()
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: pool, ClientSessionCache: &tickets{pair: pair},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.get() },
	}, nil
}

// Server returns the TLS configuration of a side that is connected to, and wants the other's certificate. Errors as
// those of Client.
func (f Files) Server() (*tls.Config, error) {
	pair, pool, err := f.load()
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.get() },
	}, nil
}

// Serving returns the TLS configuration of a side that is connected to by clients that show no certificate. The pair is
// read again when the file of the certificate changes. TLS 1.2 is spoken too, as by kube-apiserver. Errors: a file is
// not named, can't be read, or does not hold what it should.
func Serving(cert, key string) (*tls.Config, error) {
	if cert == "" || key == "" {
		return nil, errors.New("a certificate and its key must be given together")
	}
	pair := &keyPair{files: Files{Cert: cert, Key: key}}
	if _, err := pair.get(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.get() },
	}, nil
}

func (f Files) load() (*keyPair, *x509.CertPool, error) {
	if f.Cert == "" || f.Key == "" || f.CA == "" {
		return nil, nil, errors.New("a certificate, its key and a CA must be given together")
	}
	pair := &keyPair{files: f}
	if _, err := pair.get(); err != nil {
		return nil, nil, err
	}
	pem, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, nil, fmt.Errorf("CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, nil, fmt.Errorf("CA: no certificate in %s", f.CA)
	}
	return pair, pool, nil
}

// keyPair is a certificate and its key, read again when the file of the certificate has changed.
type keyPair struct {
	files Files

	mu      sync.Mutex // guards all below
	cert    *tls.Certificate
	changed time.Time // modification time of the file that cert was read from
}

// get returns the newest pair. While the files are being replaced, or are broken, the one before goes on being used.
func (k *keyPair) get() (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	info, err := os.Stat(k.files.Cert)
	if err == nil && k.cert != nil && info.ModTime().Equal(k.changed) {
		return k.cert, nil
	}
	var cert tls.Certificate
	if err == nil {
		cert, err = tls.LoadX509KeyPair(k.files.Cert, k.files.Key)
	}
	if err != nil {
		if k.cert != nil {
			return k.cert, nil
		}
		return nil, fmt.Errorf("certificate: %w", err)
	}
	k.cert, k.changed = &cert, info.ModTime()
	return k.cert, nil
}
