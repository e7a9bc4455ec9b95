package main

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/pki/pkitest"
)

// TestAHubThatEdgesWouldRefuseIsToldSo at the start, where an operator looks, not at each edge.
func TestAHubThatEdgesWouldRefuseIsToldSo(t *testing.T) {
	ca, other := pkitest.NewCA(t), pkitest.NewCA(t)
	cfg, err := ca.Issue(t, "127.0.0.1").Server()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ca   *pkitest.CA
		at   time.Time
		good bool
	}{
		"good": {ca, time.Now(), true}, "of another authority": {other, time.Now(), false},
		"expired": {ca, time.Now().AddDate(50, 0, 0), false},
	} {
		roots := x509.NewCertPool()
		roots.AddCert(c.ca.Certificate())
		if err := checkOwn(cfg, roots, c.at); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
