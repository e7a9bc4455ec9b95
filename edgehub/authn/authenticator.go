package authn

import (
	"net/http"

	"github.com/tombolo-sync/tombolo/internal/access"
)

// Authenticator asks for a certificate first, then for a token, as kube-apiserver does. A nil part knows nobody.
type Authenticator struct {
	Certificates *Certificates
	Tokens       *Tokens
}

// Authenticate returns the user of a request, access.Nobody for one without credentials. An error says that they are not good.
func (a *Authenticator) Authenticate(r *http.Request) (*access.User, error) {
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		return a.Certificates.user(r.TLS.PeerCertificates)
	}
	if token, ok := bearer(r); ok {
		return a.Tokens.user(r.Context(), token)
	}
	return access.Nobody(), nil
}
