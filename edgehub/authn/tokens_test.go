package authn

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/access"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

const issuer = "https://kubernetes.default.svc"

// site is an edge that knows a cloud's keys, and holds its service accounts.
type site struct {
	t    testing.TB
	docs *apidoc.Set
	log  *watchlog.Log // nil: none is held
	key  *ecdsa.PrivateKey
	rev  uint64
}

func newSite(t testing.TB) *site {
	s := &site{t: t, docs: apidoc.NewSet()}
	s.rotate("k1")
	return s
}

// rotate makes a key the only one of the cloud.
func (s *site) rotate(id string) {
	s.t.Helper()
	var err error
	if s.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		s.t.Fatal(err)
	}
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: s.key.Public(), KeyID: id, Algorithm: "ES256", Use: "sig"}, {Key: []byte("a key of thirty-two bytes or more"), KeyID: "sym"},
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.docs.Replace([]apidoc.Document{
		{Path: apidoc.Issuer, MediaType: "application/json", Body: apidoc.Pack([]byte(`{"issuer":"` + issuer + `"}`))},
		{Path: apidoc.Keys, MediaType: "application/jwk-set+json", Body: apidoc.Pack(keys)},
	})
}

func (s *site) Documents() *apidoc.Set { return s.docs }

func (s *site) Log(gvr schema.GroupVersionResource) (*watchlog.Log, error) {
	if s.log != nil && gvr == serviceAccounts {
		return s.log, nil
	}
	return nil, apidoc.ErrUnknownResource
}

// account writes the service account shop/till, or with no UID deletes it.
func (s *site) account(uid string) {
	s.t.Helper()
	s.rev++
	if s.log == nil {
		s.log = watchlog.New(&watchlog.Resource{Version: "v1", Name: "serviceaccounts", Namespaced: true}, watchlog.Config{})
		if err := s.log.Load(watchlog.Content{Rev: s.rev, Floor: s.rev}); err != nil {
			s.t.Fatal(err)
		}
		s.rev++
	}
	op := watchlog.Op{Key: "shop/till", Rev: s.rev}
	if uid != "" {
		o, err := s.log.Decoder().Decode(fmt.Appendf(nil, `{"metadata":{"name":"till","namespace":"shop","uid":%q,"resourceVersion":"%d"}}`, uid, s.rev))
		if err != nil {
			s.t.Fatal(err)
		}
		op.Object = o
	}
	if err := s.log.Commit(s.log.Snapshot().Plan([]watchlog.Op{op}, s.rev)); err != nil {
		s.t.Fatal(err)
	}
}

// sign returns a token; set changes its claims.
func (s *site) sign(alg jose.SignatureAlgorithm, key any, id string, set func(*claims)) string {
	s.t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	var c claims
	now := time.Now()
	c.Issuer, c.Subject, c.Audience, c.ID = issuer, "system:serviceaccount:shop:till", jwt.Audience{issuer}, "j1"
	c.IssuedAt, c.NotBefore, c.Expiry = jwt.NewNumericDate(now), jwt.NewNumericDate(now), jwt.NewNumericDate(now.Add(time.Hour))
	c.Kubernetes.Namespace, c.Kubernetes.ServiceAccount = "shop", ref{"till", "u1"}
	if set != nil {
		set(&c)
	}
	text, err := jwt.Signed(signer).Claims(c).Serialize()
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

func TestTokensAreVerifiedWithoutTheCloud(t *testing.T) {
	s := newSite(t)
	v := NewVerifier(s)
	u, err := v.Verify(s.sign(jose.ES256, s.key, "k1", func(c *claims) { c.Kubernetes.Pod = &ref{"p", "pu"} }))
	if err != nil || u.Name != "system:serviceaccount:shop:till" || u.UID != "u1" || !u.Bearer || !u.In("system:serviceaccounts:shop") ||
		!u.In(access.Authenticated) || u.Extra["authentication.kubernetes.io/pod-name"][0] != "p" || u.Extra["authentication.kubernetes.io/credential-id"][0] != "JTI=j1" {
		t.Fatalf("%+v, %v", u, err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := json.Marshal(jose.JSONWebKey{Key: s.key.Public()})
	if err != nil {
		t.Fatal(err)
	}
	good := s.sign(jose.ES256, s.key, "k1", nil)
	body := strings.Split(good, ".")[1]
	for name, token := range map[string]string{
		"signed by another key":             s.sign(jose.ES256, other, "k1", nil),
		"an unknown key id":                 s.sign(jose.ES256, s.key, "k2", nil),
		"the public key as a secret":        s.sign(jose.HS256, public, "k1", nil),
		"a symmetric key among the cloud's": s.sign(jose.HS256, []byte("a key of thirty-two bytes or more"), "sym", nil),
		"alg none":                          "eyJhbGciOiJub25lIn0." + body + ".",
		"no signature":                      "eyJhbGciOiJFUzI1NiIsImtpZCI6ImsxIn0." + body + ".",
		"another body":                      strings.Replace(good, body, strings.Split(s.sign(jose.ES256, other, "k1", nil), ".")[1], 1)[:len(good)-4] + "AAAA",
		"another audience":                  s.sign(jose.ES256, s.key, "k1", func(c *claims) { c.Audience = jwt.Audience{"vault"} }),
		"no audience":                       s.sign(jose.ES256, s.key, "k1", func(c *claims) { c.Audience = nil }),
		"another issuer":                    s.sign(jose.ES256, s.key, "k1", func(c *claims) { c.Issuer = "https://evil" }),
		"expired":                           s.sign(jose.ES256, s.key, "k1", func(c *claims) { c.Expiry = jwt.NewNumericDate(time.Now().Add(-2 * time.Minute)) }),
		"not yet valid":                     s.sign(jose.ES256, s.key, "k1", func(c *claims) { c.NotBefore = jwt.NewNumericDate(time.Now().Add(2 * time.Minute)) }),
		"never expiring":                    s.sign(jose.ES256, s.key, "k1", func(c *claims) { c.Expiry = nil }),
		"the subject of another":            s.sign(jose.ES256, s.key, "k1", func(c *claims) { c.Subject = "system:serviceaccount:kube-system:admin" }),
		"no service account":                s.sign(jose.ES256, s.key, "k1", func(c *claims) { c.Kubernetes.Namespace, c.Subject = "", "system:serviceaccount::till" }),
		"nonsense":                          "a.b.c",
		"empty":                             "",
	} {
		if u, err := v.Verify(token); err == nil {
			t.Errorf("%s: %+v", name, u)
		}
	}
	s.rotate("k2")
	if _, err := v.Verify(good); err == nil {
		t.Error("a key that is no more the cloud's")
	}
	if _, err := v.Verify(s.sign(jose.ES256, s.key, "k2", nil)); err != nil {
		t.Errorf("with the new key: %v", err)
	}
	s.docs.Replace(nil)
	if _, err := v.Verify(good); !errors.Is(err, errNoKeys) {
		t.Errorf("without keys: %v", err)
	}
}

func TestTokensOfWhatIsGoneAreNotGood(t *testing.T) {
	s := newSite(t)
	v := NewVerifier(s)
	token := s.sign(jose.ES256, s.key, "k1", nil)
	for _, c := range []struct {
		uid  string
		good bool
	}{{"u1", true}, {"", false}, {"u2", false}, {"u1", true}} {
		s.account(c.uid)
		if _, err := v.Verify(token); (err == nil) != c.good {
			t.Errorf("the account has UID %q: %v", c.uid, err)
		}
	}
}

func TestAudiencesOfTheEdgesOwn(t *testing.T) {
	s := newSite(t)
	v := NewVerifier(s, "tombolo", "other")
	u, err := v.Verify(s.sign(jose.ES256, s.key, "k1", func(c *claims) { c.Audience = jwt.Audience{"tombolo"} }))
	if err != nil || u.Bearer {
		t.Errorf("%+v, %v: the cloud does not take such a token", u, err)
	}
	if _, err := v.Verify(s.sign(jose.ES256, s.key, "k1", nil)); err == nil {
		t.Error("one for the API server")
	}
}

// oracle is a cloud that says what a test wants.
type oracle struct {
	asked int
	say   func(context.Context) (*access.User, error)
}

func (o *oracle) Review(ctx context.Context, _ string) (*access.User, error) {
	o.asked++
	return o.say(ctx)
}

func TestTheCloudsWordCountsWhileItCanBeHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		good, bad := s.sign(jose.ES256, s.key, "k1", nil), "made up"
		ann := &access.User{Name: "ann", Bearer: true}
		o := &oracle{say: func(context.Context) (*access.User, error) { return ann, nil }}
		tokens := NewTokens(o, NewVerifier(s), slog.New(slog.DiscardHandler))
		expect := func(token, name string, asked int) {
			t.Helper()
			u, err := tokens.user(t.Context(), token)
			if (err == nil) != (name != "") || err == nil && u.Name != name || o.asked != asked {
				t.Fatalf("%+v, %v, asked %d times", u, err, o.asked)
			}
		}
		expect(bad, "ann", 1) // whatever it is: the cloud knows other tokens than those of service accounts
		expect(bad, "ann", 1)
		time.Sleep(goodFor)
		o.say = func(context.Context) (*access.User, error) { return nil, errors.New("revoked") }
		expect(bad, "", 2)
		expect(good, "", 3) // its signature is good, and it was revoked
		time.Sleep(badFor)
		o.say = func(context.Context) (*access.User, error) { return nil, errUnreachable }
		expect(good, "system:serviceaccount:shop:till", 4)
		expect(bad, "", 5)
		time.Sleep(offlineFor)
		o.say = func(ctx context.Context) (*access.User, error) { // a link that swallows everything
			<-ctx.Done()
			return nil, fmt.Errorf("%w: %w", errUnreachable, ctx.Err())
		}
		begun := time.Now()
		expect(good, "system:serviceaccount:shop:till", 6)
		if took := time.Since(begun); took != reviewWait {
			t.Errorf("waited %s", took)
		}
		time.Sleep(2 * time.Hour)
		expect(good, "", 7)
	})
}

// TestARememberedTokenDiesWithItsAccount at once, not when it is forgotten.
func TestARememberedTokenDiesWithItsAccount(t *testing.T) {
	s := newSite(t)
	s.account("u1")
	gone := false
	o := &oracle{say: func(context.Context) (*access.User, error) {
		if gone {
			return nil, errors.New("gone")
		}
		return &access.User{Name: "till"}, nil
	}}
	tokens := NewTokens(o, NewVerifier(s), slog.New(slog.DiscardHandler))
	token := s.sign(jose.ES256, s.key, "k1", nil)
	for range 2 {
		if _, err := tokens.user(t.Context(), token); err != nil || o.asked != 1 {
			t.Fatal(err, o.asked)
		}
	}
	gone = true
	s.account("")
	if u, err := tokens.user(t.Context(), token); err == nil {
		t.Errorf("%+v", u)
	}
}

// TestStrangersCantFloodTheLink: who makes up tokens makes few reviews.
func TestStrangersCantFloodTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &oracle{say: func(context.Context) (*access.User, error) { return nil, errors.New("no") }}
		tokens := NewTokens(o, NewVerifier(newSite(t)), slog.New(slog.DiscardHandler))
		for i := range 10_000 {
			if u, err := tokens.user(t.Context(), fmt.Sprint("made up ", i)); err == nil {
				t.Fatalf("%+v", u)
			}
		}
		if o.asked > reviewBurst {
			t.Errorf("asked %d times", o.asked)
		}
		if n := len(tokens.known); n > maxVerdicts {
			t.Errorf("%d are remembered", n)
		}
	})
}
