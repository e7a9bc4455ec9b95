package enroll

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Token is what is kept of a join token. It is good for one edge.
type Token struct {
	ID      string    `json:"id"`
	Edge    string    `json:"edge"`
	Hash    []byte    `json:"hash"` // SHA-256 of the secret
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	// Holder is the fingerprint of the key that the token was used for, "" before. A Register keeps it.
	Holder string `json:"holder,omitempty"`
}

// ErrNoToken is returned for a token that does not exist.
var ErrNoToken = errors.New("no such token")

const (
	idBytes     = 10
	secretBytes = 32
	// maxToken bounds the text of a token, in bytes.
	maxToken = 128
	// MaxTTL bounds how long a token is good for.
	MaxTTL = 7 * 24 * time.Hour
)

var (
	idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
	idPattern  = regexp.MustCompile(`^[a-z2-7]{16}$`)
)

// NewToken makes a token for an edge, good from now for ttl. It returns what is to be kept and the text, which is nowhere
// else. A revocation of the edge that is later than now, by the second that it is rounded up to, does not touch it. Errors:
// edge is not a DNS-1123 subdomain, ttl is not more than 0 or more than MaxTTL.
func NewToken(edge string, ttl time.Duration, now, revoked time.Time) (Token, string, error) {
	if len(validation.IsDNS1123Subdomain(edge)) > 0 {
		return Token{}, "", fmt.Errorf("edge %q: lower-case letters, digits, - and . are needed", edge)
	}
	if ttl <= 0 || ttl > MaxTTL {
		return Token{}, "", fmt.Errorf("a token is good for more than 0 and up to %s, not for %s", MaxTTL, ttl)
	}
	id, secret := make([]byte, idBytes), make([]byte, secretBytes)
	_, _ = rand.Read(id) // never fails
	_, _ = rand.Read(secret)
	t := Token{ID: idEncoding.EncodeToString(id), Edge: edge, Hash: hash(secret), Created: now, Expires: now.Add(ttl)}
	if t.Created.Before(revoked) {
		t.Created = revoked
	}
	return t, t.ID + "." + base64.RawURLEncoding.EncodeToString(secret), nil
}

// parseToken splits a token's text.
func parseToken(text string) (id string, secret []byte, ok bool) {
	if len(text) > maxToken {
		return "", nil, false
	}
	id, rest, found := strings.Cut(text, ".")
	secret, err := base64.RawURLEncoding.DecodeString(rest)
	if !found || !ValidID(id) || err != nil || len(secret) != secretBytes {
		return "", nil, false
	}
	return id, secret, true
}

// ValidID tells whether a text can be the id of a token.
func ValidID(id string) bool { return idPattern.MatchString(id) }

// matches tells in constant time whether a secret is the token's.
func (t *Token) matches(secret []byte) bool {
	return subtle.ConstantTimeCompare(t.Hash, hash(secret)) == 1
}

func hash(secret []byte) []byte {
	sum := sha256.Sum256(secret)
	return sum[:]
}
