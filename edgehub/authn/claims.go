package authn

import (
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/tombolo-sync/tombolo/internal/access"
)

// algorithms are those of keys that are public: nothing that is known here can make a token.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// claims are those of a service-account token (kubernetes pkg/serviceaccount/claims.go).
type claims struct {
	jwt.Claims
	Kubernetes struct {
		Namespace      string `json:"namespace"`
		ServiceAccount ref    `json:"serviceaccount"`
		Pod            *ref   `json:"pod"`
		Secret         *ref   `json:"secret"`
		Node           *ref   `json:"node"`
	} `json:"kubernetes.io"`
}

// ref names an object that a token is bound to.
type ref struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// unverified returns what a token says of itself, which may be a lie. ok is false for what is no such token.
func unverified(token string) (c claims, ok bool) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return c, false
	}
	return c, parsed.UnsafeClaimsWithoutVerification(&c) == nil
}

// expiry returns when a token says that it ends.
func expiry(token string) (time.Time, bool) {
	c, ok := unverified(token)
	if !ok || c.Expiry == nil {
		return time.Time{}, false
	}
	return c.Expiry.Time().Add(jwt.DefaultLeeway), true
}

// user returns whom a token stands for (apiserver pkg/authentication/serviceaccount/util.go).
func (c *claims) user() *access.User {
	k := &c.Kubernetes
	u := &access.User{
		Name:   access.ServiceAccountUser(k.Namespace, k.ServiceAccount.Name),
		UID:    k.ServiceAccount.UID,
		Groups: append(access.ServiceAccountGroups(k.Namespace), access.Authenticated),
		Extra:  map[string][]string{},
	}
	const prefix = "authentication.kubernetes.io/"
	if c.ID != "" {
		u.Extra[prefix+"credential-id"] = []string{"JTI=" + c.ID}
	}
	for name, r := range map[string]*ref{"pod": k.Pod, "node": k.Node} {
		if r != nil {
			u.Extra[prefix+name+"-name"], u.Extra[prefix+name+"-uid"] = []string{r.Name}, []string{r.UID}
		}
	}
	return u
}
