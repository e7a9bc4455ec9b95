package authn

import (
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// FuzzVerify: nothing but the cloud's own token is good, however like it.
func FuzzVerify(f *testing.F) {
	s := newSite(f)
	v := NewVerifier(s)
	good := s.sign(jose.ES256, s.key, "k1", nil)
	head, rest, _ := strings.Cut(good, ".")
	body, sig, _ := strings.Cut(rest, ".")
	f.Add(head, body, sig)
	f.Add("eyJhbGciOiJub25lIn0", body, "")
	f.Add("eyJhbGciOiJIUzI1NiIsImtpZCI6InN5bSJ9", body, sig)
	f.Fuzz(func(t *testing.T, h, b, sg string) {
		if u, err := v.Verify(h + "." + b + "." + sg); err == nil && b != body {
			t.Errorf("%s.%s.%s is good: %+v", h, b, sg, u)
		}
	})
}
