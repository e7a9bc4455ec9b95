package credentials

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Keys makes private keys and finds them again. FileKeys has them in files; another one may have them in hardware, from
// where they can be used and not be read.
type Keys interface {
	// New makes a key that outlives the process.
	New() (crypto.Signer, error)
	// Open returns the key with a public key. Its error wraps fs.ErrNotExist when there is none.
	Open(public crypto.PublicKey) (crypto.Signer, error)
	// Retain removes all keys but those with the public keys given.
	Retain(public ...crypto.PublicKey) error
}

// FileKeys are ECDSA keys on P-256 in PEM files of a directory, for their owner alone.
type FileKeys struct{ Dir string }

const keyType = "PRIVATE KEY"

// New makes a key.
func (k FileKeys) New() (crypto.Signer, error) {
	if err := os.MkdirAll(k.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	name, err := k.path(key.Public())
	if err != nil {
		return nil, err
	}
	return key, writeFile(name, pem.EncodeToMemory(&pem.Block{Type: keyType, Bytes: der}))
}

// Open reads a key.
func (k FileKeys) Open(public crypto.PublicKey) (crypto.Signer, error) {
	name, err := k.path(public)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(name) //nolint:gosec // in the edge's own directory
	if err != nil {
		return nil, fmt.Errorf("the certificate's key: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != keyType {
		return nil, fmt.Errorf("%s holds no key", name)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s holds no key that can be read", name) // the error might tell something of it
	}
	signer, ok := key.(crypto.Signer)
	if !ok || !samePublic(signer.Public(), public) {
		return nil, fmt.Errorf("%s holds another key", name)
	}
	return signer, nil
}

// Retain removes the files of other keys.
func (k FileKeys) Retain(public ...crypto.PublicKey) error {
	keep := map[string]bool{}
	for _, p := range public {
		name, err := k.path(p)
		if err != nil {
			return err
		}
		keep[filepath.Base(name)] = true
	}
	entries, err := os.ReadDir(k.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = removeLeftovers(k.Dir)
	}
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	for _, e := range entries {
		if !keep[e.Name()] && strings.HasSuffix(e.Name(), ".pem") {
			if err := os.Remove(filepath.Join(k.Dir, e.Name())); err != nil {
				return fmt.Errorf("keys: %w", err)
			}
		}
	}
	return nil
}

func (k FileKeys) path(public crypto.PublicKey) (string, error) {
	name, err := nameOf(public)
	return filepath.Join(k.Dir, name+".pem"), err
}

// nameOf names a public key.
func nameOf(public crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", fmt.Errorf("public key: %w", err)
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:16]), nil
}

func samePublic(a, b crypto.PublicKey) bool {
	k, ok := a.(interface{ Equal(x crypto.PublicKey) bool })
	return ok && k.Equal(b)
}
