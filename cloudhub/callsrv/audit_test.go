package callsrv

import (
	"net/http"
	"strings"
	"testing"
)

func TestWhoseTokenARequestShows(t *testing.T) {
	const claims = "eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6bnM6c2EifQ" // {"sub":"system:serviceaccount:ns:sa"}
	for what, c := range map[string]struct{ authorization, want string }{
		"a service account's":   {"Bearer eyJhbGciOiJub25lIn0." + claims + ".c2ln", "system:serviceaccount:ns:sa"},
		"none":                  {"", ""},
		"one that says nothing": {"Bearer opaque", ""},
		"no base64":             {"Bearer a.!.b", ""},
		"no JSON":               {"Bearer a.AAAA.b", ""},
		"a number for a name":   {"Bearer a.eyJzdWIiOjF9.b", ""},
	} {
		h := http.Header{}
		if c.authorization != "" {
			h.Set("Authorization", c.authorization)
		}
		if got := subject(h); got != c.want {
			t.Errorf("%s: %q", what, got)
		}
	}
	if got := short(strings.Repeat("a", 1000)); len(got) != maxLine {
		t.Errorf("a line has a text of %d bytes", len(got))
	}
}
