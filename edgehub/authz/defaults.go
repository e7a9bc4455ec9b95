package authz

import (
	"strings"

	"github.com/tombolo-sync/tombolo/internal/access"
)

// byDefault tells whether a path that shows no object is open in a cluster that nobody has changed that in (kubernetes
// plugin/pkg/auth/authorizer/rbac/bootstrappolicy: system:discovery and system:public-info-viewer). It decides where the edge
// doesn't hold the cluster's own rules.
func byDefault(r *access.Request) bool {
	if r.Verb != "get" {
		return false
	}
	switch r.Path {
	case "/healthz", "/livez", "/readyz", "/version", "/version/":
		return true
	case "/api", "/apis", "/openapi":
		return r.User.In(access.Authenticated)
	}
	for _, root := range []string{"/api/", "/apis/", "/openapi/"} {
		if strings.HasPrefix(r.Path, root) {
			return r.User.In(access.Authenticated)
		}
	}
	return false
}
