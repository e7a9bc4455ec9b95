package authn

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// inProtocol is how browsers send tokens (apiserver pkg/authentication/request/websocket).
const inProtocol = "base64url.bearer.authorization.k8s.io."

// bearer returns the token of a request.
func bearer(r *http.Request) (string, bool) {
	scheme, token, ok := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if ok && strings.EqualFold(scheme, "bearer") && token != "" {
		return token, true
	}
	for _, line := range r.Header["Sec-Websocket-Protocol"] {
		for p := range strings.SplitSeq(line, ",") {
			if text, ok := strings.CutPrefix(strings.TrimSpace(p), inProtocol); ok {
				raw, err := base64.RawURLEncoding.DecodeString(text)
				return string(raw), err == nil && len(raw) > 0
			}
		}
	}
	return "", false
}
