package apidoc

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// HashSize is the number of bytes of a Hash.
const HashSize = 16

// Hash is a SHA-256, cut to 128 bits.
type Hash [HashSize]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

func sum(h hash.Hash) Hash { return Hash(h.Sum(nil)[:HashSize]) }

func sumOf(text []byte) Hash {
	full := sha256.Sum256(text)
	return Hash(full[:HashSize])
}
