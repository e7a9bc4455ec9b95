package enroll

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"testing"
	"time"
)

func FuzzToken(f *testing.F) {
	_, text, err := NewToken("edge-1", time.Hour, time.Now(), time.Time{})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{text, "", ".", "aaaaaaaaaaaaaaaa.", text + "=", text[:20]} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, secret, ok := parseToken(text)
		if !ok {
			return
		}
		if len(secret) != secretBytes || !ValidID(id) || len(text) > maxToken {
			t.Errorf("%q is taken for a token", text)
		}
	})
}

func FuzzRequest(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(der)
	f.Add([]byte("noise"))
	f.Fuzz(func(t *testing.T, der []byte) {
		key, err := publicKey(der)
		if err != nil {
			return
		}
		if _, err := fingerprint(key); err != nil {
			t.Errorf("a key without a name is taken: %v", err)
		}
	})
}
