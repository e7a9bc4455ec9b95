package credentials

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/tombolo-sync/tombolo/internal/pki"
)

// Identity is what an edge that has joined proves itself with, always the newest. It is safe for concurrent use.
type Identity struct {
	folder  Folder
	clock   clock
	current atomic.Pointer[material]
}

// Open returns the identity in a folder. Errors: ErrNone, and what is wrong with the files.
func Open(f Folder) (*Identity, error) {
	m, err := f.load()
	if err != nil {
		return nil, err
	}
	i := &Identity{folder: f}
	i.current.Store(m)
	return i, nil
}

// Edge returns the edge's name.
func (i *Identity) Edge() string { return i.current.Load().leaf().Subject.CommonName }

// NotAfter returns when the certificate ends.
func (i *Identity) NotAfter() time.Time { return i.current.Load().leaf().NotAfter }

// Serial identifies the certificate, in hexadecimal.
func (i *Identity) Serial() string { return i.current.Load().leaf().SerialNumber.Text(16) }

// replace makes m what the edge goes by, durably.
func (i *Identity) replace(m *material) error {
	if err := i.folder.save(m); err != nil {
		return err
	}
	i.current.Store(m)
	return nil
}

// trust takes over other authorities of hubs. Their order is the hub's.
func (i *Identity) trust(authorities []*x509.Certificate) error {
	m := i.current.Load()
	if bytes.Equal(pki.Hash(m.authorities), pki.Hash(authorities)) {
		return nil
	}
	if err := i.folder.saveAuthorities(authorities); err != nil {
		return fmt.Errorf("authorities of hubs: %w", err)
	}
	i.current.Store(m.with(authorities))
	return nil
}

// refresh takes up what another process has put into the folder: the edge may have joined anew. It tells whether there was
// something. Errors: what is there can't be read, or is for an edge of another name.
func (i *Identity) refresh() (bool, error) {
	now := i.current.Load()
	data, err := os.ReadFile(i.folder.path("cert.pem"))
	if err != nil {
		return false, fmt.Errorf("certificate: %w", err)
	}
	if bytes.Equal(data, pki.EncodeCertificates(now.chain)) {
		return false, nil
	}
	m, err := i.folder.load()
	switch {
	case err != nil:
		return false, err
	case m.leaf().Equal(now.leaf()):
		return false, nil
	case m.leaf().Subject.CommonName != i.Edge():
		return false, fmt.Errorf("the certificate is for edge %q, and this process is %q until it is started again",
			m.leaf().Subject.CommonName, i.Edge())
	}
	i.current.Store(m)
	return true, nil
}
