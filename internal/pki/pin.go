package pki

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"strings"
)

// pinPrefix names the hash of a Pin, as kubeadm writes it.
const pinPrefix = "sha256:"

// Pin names an authority by its public key: SHA-256 of its SubjectPublicKeyInfo.
type Pin [sha256.Size]byte

// PinOf returns the pin of an authority.
func PinOf(authority *x509.Certificate) Pin { return sha256.Sum256(authority.RawSubjectPublicKeyInfo) }

// ParsePin reads what String writes.
func ParsePin(text string) (Pin, error) {
	var p Pin
	digits, found := strings.CutPrefix(text, pinPrefix)
	raw, err := hex.DecodeString(digits)
	if !found || err != nil || len(raw) != len(p) {
		return p, fmt.Errorf("%q is no hash of a CA: %s and %d hexadecimal digits are needed", text, pinPrefix, 2*len(p))
	}
	copy(p[:], raw)
	return p, nil
}

// String is "sha256:" and hexadecimal digits.
func (p Pin) String() string { return pinPrefix + hex.EncodeToString(p[:]) }

// Matches tells whether a certificate is that of the authority.
func (p Pin) Matches(c *x509.Certificate) bool {
	other := PinOf(c)
	return c.IsCA && subtle.ConstantTimeCompare(p[:], other[:]) == 1
}

// PinProtocol is the ALPN protocol by which a client asks a hub to send the authorities of its certificate along. It is never
// spoken.
const PinProtocol = "tombolo-pin"
