package authn

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/access"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Held is what the edge has of the cloud.
type Held interface {
	// Log returns the log of a resource. An error means that the edge has none.
	Log(gvr schema.GroupVersionResource) (*watchlog.Log, error)
	// Documents are the cloud's API documents.
	Documents() *apidoc.Set
}

// Verifier verifies service-account tokens by what the edge has: the issuer and the keys, which come with the API documents,
// and the objects that tokens are bound to. It is safe for concurrent use.
type Verifier struct {
	held      Held
	audiences []string // any of them will do; none: the issuer

	mu      sync.Mutex // guards what is below
	edition *apidoc.Edition
	trust   *trust // of edition; nil when there is none in it
}

// trust is whose tokens are good.
type trust struct {
	issuer string
	keys   jose.JSONWebKeySet
}

// NewVerifier returns a verifier. A token has to be for one of the audiences; without any, for the API server itself, which
// by default is its issuer.
func NewVerifier(held Held, audiences ...string) *Verifier {
	return &Verifier{held: held, audiences: audiences}
}

// Verify returns the user of a token. Errors: it is none of the cloud's service accounts, not for this audience, not yet or no
// longer good, bound to what is not here although it should be, or the edge does not know the cloud's keys.
func (v *Verifier) Verify(token string) (*access.User, error) {
	trust, err := v.current()
	if err != nil {
		return nil, err
	}
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	var c claims
	if err := parsed.Claims(&trust.keys, &c); err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	audiences := v.audiences
	if len(audiences) == 0 {
		audiences = []string{trust.issuer}
	}
	if err := c.Validate(jwt.Expected{Issuer: trust.issuer, AnyAudience: audiences}); err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	if c.Expiry == nil {
		return nil, errors.New("token: it never expires, and only the cloud knows whether it is still good")
	}
	user := c.user()
	if _, _, ok := access.ServiceAccount(user.Name); !ok || c.Subject != user.Name {
		return nil, fmt.Errorf("token: it is of %q, and says it is of %q", c.Subject, user.Name)
	}
	if err := v.exist(&c); err != nil {
		return nil, err
	}
	user.Bearer = slices.Contains(c.Audience, trust.issuer)
	return user, nil
}

var errNoKeys = errors.New("this edge does not know the keys of the cloud's tokens")

// current returns whose tokens are good, by the newest documents.
func (v *Verifier) current() (*trust, error) {
	now := v.held.Documents().Current()
	v.mu.Lock()
	defer v.mu.Unlock()
	if now != v.edition {
		v.edition, v.trust = now, readTrust(now)
	}
	if v.trust == nil {
		return nil, errNoKeys
	}
	return v.trust, nil
}

func readTrust(e *apidoc.Edition) *trust {
	var t trust
	var config struct {
		Issuer string `json:"issuer"`
	}
	if !readDocument(e, apidoc.Issuer, &config) || !readDocument(e, apidoc.Keys, &t.keys) || config.Issuer == "" {
		return nil
	}
	// Only public keys: a symmetric one would be no secret here.
	t.keys.Keys = slices.DeleteFunc(t.keys.Keys, func(k jose.JSONWebKey) bool { return !k.Valid() || !k.IsPublic() })
	t.issuer = config.Issuer
	return &t
}

func readDocument(e *apidoc.Edition, path string, into any) bool {
	doc, ok := e.Get(path, "")
	if !ok {
		return false
	}
	text, err := doc.Body.Text()
	return err == nil && json.Unmarshal(text, into) == nil
}

// kinds of objects that tokens are bound to.
var (
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	pods            = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	secrets         = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	nodes           = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

// exist tells whether what a token is bound to is here, as far as the edge holds that resource.
func (v *Verifier) exist(c *claims) error {
	k := &c.Kubernetes
	if err := v.exists(serviceAccounts, k.Namespace, &k.ServiceAccount); err != nil {
		return err
	}
	if err := v.exists(pods, k.Namespace, k.Pod); err != nil {
		return err
	}
	if err := v.exists(secrets, k.Namespace, k.Secret); err != nil {
		return err
	}
	if k.Pod != nil { // then the node is where the pod is, and need not exist
		return nil
	}
	return v.exists(nodes, "", k.Node)
}

func (v *Verifier) exists(gvr schema.GroupVersionResource, namespace string, r *ref) error {
	if r == nil {
		return nil
	}
	l, err := v.held.Log(gvr)
	if err != nil || !l.IsReady() {
		return nil
	}
	switch o := l.Snapshot().Get(watchlog.KeyOf(namespace, r.Name)); {
	case o == nil:
		return fmt.Errorf("token: there is no %s %s/%s here", gvr.Resource, namespace, r.Name)
	case o.UID() != r.UID:
		return fmt.Errorf("token: %s %s/%s is another one", gvr.Resource, namespace, r.Name)
	}
	return nil
}

// bound tells whether what a token says it is bound to is here. The token has been found good.
func (v *Verifier) bound(token string) error {
	c, ok := unverified(token)
	if !ok || c.Kubernetes.ServiceAccount.Name == "" {
		return nil
	}
	return v.exist(&c)
}

// holds tells whether a token is bound to something that can be missed when it goes: all of it is here now.
func (v *Verifier) holds(token string) bool {
	c, ok := unverified(token)
	return ok && c.Kubernetes.ServiceAccount.Name != "" && v.exist(&c) == nil
}
