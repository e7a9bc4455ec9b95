package enroll

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// Organization is what every certificate of ours says. It is also the group of the edges' users in the cloud.
const Organization = "tombolo:edges"

// backdate is how long before its issue a certificate begins at most, and a tenth of its life: clocks are not exact.
const backdate = 5 * time.Minute

// Issuer signs edges' certificates.
type Issuer struct {
	authority func() (*tls.Certificate, error)
	ttl       time.Duration
}

// NewIssuer returns an issuer of certificates that last ttl, signed by the newest authority. Errors: there is no authority, or
// what there is can't sign certificates.
func NewIssuer(authority func() (*tls.Certificate, error), ttl time.Duration) (*Issuer, error) {
	i := &Issuer{authority: authority, ttl: ttl}
	_, _, err := i.signer()
	return i, err
}

func (i *Issuer) signer() (*tls.Certificate, *x509.Certificate, error) {
	pair, err := i.authority()
	if err != nil {
		return nil, nil, err
	}
	ca := pair.Leaf
	if ca == nil {
		if ca, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, nil, fmt.Errorf("the edges' authority: %w", err)
		}
	}
	if !ca.IsCA || ca.KeyUsage != 0 && ca.KeyUsage&x509.KeyUsageCertSign == 0 {
		return nil, nil, errors.New("the edges' authority: the certificate is not one of an authority")
	}
	return pair, ca, nil
}

// begin returns when a certificate begins that is signed now.
func (i *Issuer) begin(now, notBefore time.Time) time.Time {
	if at := now.Add(-min(backdate, i.ttl/10)).Truncate(time.Second); at.After(notBefore) {
		return at
	}
	return notBefore
}

// Sign returns a certificate, in DER, with those between it and its authority. It is for key and says that it is edge's,
// whatever else was asked for. It begins no earlier than notBefore. It ends with its authority at the latest.
func (i *Issuer) Sign(edge string, key any, now, notBefore time.Time) ([][]byte, *x509.Certificate, error) {
	pair, ca, err := i.signer()
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, fmt.Errorf("serial number: %w", err)
	}
	end := now.Add(i.ttl)
	if end.After(ca.NotAfter) {
		end = ca.NotAfter
	}
	if !end.After(now) {
		return nil, nil, fmt.Errorf("the edges' authority has expired at %s", ca.NotAfter)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: edge, Organization: []string{Organization}},
		NotBefore: i.begin(now, notBefore), NotAfter: end, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, ca, key, pair.PrivateKey)
	if err != nil {
		return nil, nil, fmt.Errorf("sign the certificate of edge %s: %w", edge, err)
	}
	cert, err := x509.ParseCertificate(der)
	chain := [][]byte{der}
	if !bytes.Equal(ca.RawIssuer, ca.RawSubject) { // it is itself between, and so may others be
		chain = append(chain, pair.Certificate...)
	}
	return chain, cert, err
}

// Current tells whether the newest authority is the one with a key id, in hexadecimal.
func (i *Issuer) Current(keyID string) bool {
	_, ca, err := i.signer()
	return err != nil || len(ca.SubjectKeyId) == 0 || fmt.Sprintf("%x", ca.SubjectKeyId) == keyID
}
