package credentials

import (
	"crypto"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tombolo-sync/tombolo/internal/pki"
)

// Folder is the directory that an edge's credentials are in.
type Folder struct {
	Dir  string
	Keys Keys // nil: FileKeys in keys/
}

// Name is that of the folder in an edge's data directory.
const Name = "identity"

func (f Folder) path(name string) string { return filepath.Join(f.Dir, name) }

func (f Folder) keys() Keys {
	if f.Keys != nil {
		return f.Keys
	}
	return FileKeys{Dir: f.path("keys")}
}

// ErrNone is returned for an edge that has never joined.
var ErrNone = errors.New("the edge has not joined yet")

// load returns what is in force.
func (f Folder) load() (*material, error) {
	data, err := os.ReadFile(f.path("cert.pem"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	chain, err := pki.ParseCertificates(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path("cert.pem"), err)
	}
	if data, err = os.ReadFile(f.path("ca.pem")); err != nil {
		return nil, fmt.Errorf("authorities: %w", err)
	}
	authorities, err := pki.ParseCertificates(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path("ca.pem"), err)
	}
	key, err := f.keys().Open(chain[0].PublicKey)
	if err != nil {
		return nil, err
	}
	return newMaterial(chain, key, authorities), nil
}

// save makes m what is in force. The authorities come first: hubs of both certificates are known by them. Keys go that neither
// it nor a join under way needs.
func (f Folder) save(m *material) error {
	if _, err := f.keys().Open(m.key.Public()); err != nil {
		return err // a certificate without its key must not take the place of a good one
	}
	if err := f.saveAuthorities(m.authorities); err != nil {
		return err
	}
	if err := writeFile(f.path("cert.pem"), pki.EncodeCertificates(m.chain)); err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	keep := []crypto.PublicKey{m.key.Public()}
	if p, public := f.pending(); p.Token != "" && !p.Done {
		keep = append(keep, public)
	}
	if err := removeLeftovers(f.Dir); err != nil {
		return err
	}
	return f.keys().Retain(keep...)
}

func (f Folder) saveAuthorities(all []*x509.Certificate) error {
	if err := writeFile(f.path("ca.pem"), pki.EncodeCertificates(all)); err != nil {
		return fmt.Errorf("authorities: %w", err)
	}
	return nil
}

// Hubs returns the addresses that the edge joined at, none when it did not.
func (f Folder) Hubs() ([]string, error) {
	data, err := os.ReadFile(f.path("hubs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("hubs: %w", err)
	}
	return strings.Fields(string(data)), nil
}

// pending is the last join.
type pending struct {
	Token string `json:"token"` // its id
	Key   []byte `json:"key"`   // public, in DER
	Done  bool   `json:"done"`
}

// pending returns the last join and its key, nothing when there was none.
func (f Folder) pending() (p pending, public crypto.PublicKey) {
	data, err := os.ReadFile(f.path("join.json"))
	if err != nil || json.Unmarshal(data, &p) != nil {
		return pending{}, nil
	}
	if public, err = x509.ParsePKIXPublicKey(p.Key); err != nil {
		return pending{}, nil
	}
	return p, public
}

// joinKey returns the key for a token: the one of an attempt before, whose answer was lost, or a new one.
func (f Folder) joinKey(token string) (crypto.Signer, error) {
	if p, public := f.pending(); p.Token == token {
		if key, err := f.keys().Open(public); err == nil {
			return key, nil
		}
	}
	key, err := f.keys().New()
	if err != nil {
		return nil, err
	}
	p := pending{Token: token}
	if p.Key, err = x509.MarshalPKIXPublicKey(key.Public()); err != nil {
		return nil, fmt.Errorf("public key: %w", err)
	}
	return key, f.savePending(p)
}

func (f Folder) savePending(p pending) error {
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	return writeFile(f.path("join.json"), data)
}

// joined ends a join. Its key stays known, so that it can be repeated.
func (f Folder) joined(m *material, hubs []string) error {
	if err := writeFile(f.path("hubs"), []byte(strings.Join(hubs, "\n")+"\n")); err != nil {
		return fmt.Errorf("hubs: %w", err)
	}
	if err := f.save(m); err != nil {
		return err
	}
	p, _ := f.pending()
	p.Done = true
	return f.savePending(p)
}
