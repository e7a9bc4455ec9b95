package authn

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tombolo-sync/tombolo/internal/access"
)

const (
	// recheck is how long a certificate is good without another look at it.
	recheck = time.Minute
	// maxCertificates bounds how many are remembered.
	maxCertificates = 1024
)

// Roots are authorities of client certificates. They may change from call to call.
type Roots interface{ Pool() *x509.CertPool }

// Certificates knows users by certificates: the common name is the user, organizations are groups (apiserver
// pkg/authentication/request/x509). It is safe for concurrent use.
type Certificates struct {
	roots []Roots

	mu    sync.Mutex // guards known
	known map[[sha256.Size]byte]verified
}

// verified is a user whose certificate was good a while ago.
type verified struct {
	user  *access.User
	until time.Time
}

// NewCertificates knows those whose certificates any of the roots has signed.
func NewCertificates(roots ...Roots) *Certificates {
	return &Certificates{roots: roots, known: map[[sha256.Size]byte]verified{}}
}

func (c *Certificates) user(chain []*x509.Certificate) (*access.User, error) {
	if c == nil {
		return nil, errors.New("client certificates are not asked for")
	}
	h := sha256.New()
	for _, cert := range chain {
		h.Write(cert.Raw)
	}
	var key [sha256.Size]byte
	h.Sum(key[:0])
	now := time.Now()
	c.mu.Lock()
	v, ok := c.known[key]
	c.mu.Unlock()
	if ok && now.Before(v.until) {
		return v.user, nil
	}
	user, err := c.verify(chain, now)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxCertificates {
		clear(c.known)
	}
	until := now.Add(recheck)
	if chain[0].NotAfter.Before(until) {
		until = chain[0].NotAfter
	}
	c.known[key] = verified{user, until}
	return user, nil
}

func (c *Certificates) verify(chain []*x509.Certificate, now time.Time) (*access.User, error) {
	between := x509.NewCertPool()
	for _, cert := range chain[1:] {
		between.AddCert(cert)
	}
	err := errors.New("no authority of client certificates")
	for _, roots := range c.roots {
		_, err = chain[0].Verify(x509.VerifyOptions{
			Roots: roots.Pool(), Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		})
		if err == nil {
			break
		}
	}
	name := chain[0].Subject
	switch {
	case err != nil:
		return nil, fmt.Errorf("certificate of %q: %w", name.CommonName, err)
	case name.CommonName == "":
		return nil, errors.New("a certificate without a common name")
	}
	groups := slices.Clone(name.Organization)
	if !slices.Contains(groups, access.Authenticated) {
		groups = append(groups, access.Authenticated)
	}
	return &access.User{Name: name.CommonName, Groups: groups}, nil
}
