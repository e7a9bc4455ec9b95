package enroll

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
)

const (
	// maxRequest bounds a request, in bytes: one for an RSA key of 16,384 bits has some 4 KiB.
	maxRequest = 8 << 10
	minRSA     = 3072
	maxRSA     = 8192
)

// publicKey returns the key that a certificate is asked for. It fails unless the request is signed by it, and for keys that
// are weak or unusual.
func publicKey(der []byte) (any, error) {
	if len(der) > maxRequest {
		return nil, fmt.Errorf("a request of %d bytes is too large", len(der))
	}
	r, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, fmt.Errorf("the certificate request: %w", err)
	}
	if err := strong(r.PublicKey); err != nil {
		return nil, err
	}
	if err := r.CheckSignature(); err != nil {
		return nil, fmt.Errorf("the certificate request is not signed by its key: %w", err)
	}
	return r.PublicKey, nil
}

func strong(key any) error {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() || k.Curve == elliptic.P384() {
			return nil
		}
	case ed25519.PublicKey:
		return nil
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits >= minRSA && bits <= maxRSA {
			return nil
		}
	}
	return errors.New("the key must be of ECDSA P-256 or P-384, Ed25519, or RSA of 3072 to 8192 bits")
}

// fingerprint names a public key.
func fingerprint(key any) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("public key: %w", err)
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:]), nil
}
