package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// checkOwn tells why edges that trust roots would refuse the certificate that the hub shows, nil when they would not. Whether
// it is for the address that they dial they know alone.
func checkOwn(cfg *tls.Config, roots *x509.CertPool, now time.Time) error {
	pair, err := cfg.GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		return err
	}
	between := x509.NewCertPool()
	var leaf *x509.Certificate
	for i, der := range pair.Certificate {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return fmt.Errorf("certificate %d: %w", i+1, err)
		}
		if i == 0 {
			leaf = c
		} else {
			between.AddCert(c)
		}
	}
	if len(leaf.DNSNames)+len(leaf.IPAddresses) == 0 {
		return errors.New("it names no address (subjectAltName)")
	}
	_, err = leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err
}
