package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tombolo-sync/tombolo/edgehub/store"
)

// keyFile is the flag for the key that the data file is encrypted with.
type keyFile struct{ path string }

func (k *keyFile) add(c *cobra.Command) {
	c.Flags().StringVar(&k.path, "encryption-key-file", "", "file with the key that objects in the data directory are encrypted with: 32 bytes, or "+
		"lines of them in base64, of which the first encrypts and all decrypt")
}

// keys reads the file, nil without one.
func (k *keyFile) keys() (*store.Keys, error) {
	if k.path == "" {
		return nil, nil
	}
	info, err := os.Stat(k.path)
	if err != nil {
		return nil, fmt.Errorf("--encryption-key-file: %w", err)
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("--encryption-key-file %s: everybody can read it (mode %04o)", k.path, info.Mode().Perm())
	}
	data, err := os.ReadFile(k.path)
	if err != nil {
		return nil, fmt.Errorf("--encryption-key-file: %w", err)
	}
	keys, err := store.ParseKeys(data)
	if err != nil {
		return nil, fmt.Errorf("--encryption-key-file %s: %w", k.path, err)
	}
	return keys, nil
}

// encryption are the flags of a data file that is written.
type encryption struct {
	keyFile
	what string
}

func (e *encryption) add(c *cobra.Command) {
	e.keyFile.add(c)
	c.Flags().StringVar(&e.what, "encrypt", "secrets", "what is encrypted with that key: secrets, all (every object), or nothing (what is "+
		"encrypted is written in the clear)")
}

// kind returns what the flags ask for.
func (e *encryption) kind() (store.Encryption, error) {
	switch e.what {
	case "secrets", "all":
		return store.Encryption(e.what), nil
	case "nothing":
		return store.EncryptNothing, nil
	}
	return "", fmt.Errorf("--encrypt %q: secrets, all or nothing is needed", e.what)
}
