package litesrv

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/access"
)

// door lets in by header and allows what a test says.
type door struct {
	asked []access.Request
	allow func(*access.Request) bool
}

func (d *door) Authenticate(r *http.Request) (*access.User, error) {
	switch name := r.Header.Get("X-Test-User"); name {
	case "":
		return access.Nobody(), nil
	case "bad":
		return nil, errors.New("no such user")
	default:
		return &access.User{Name: name, Groups: []string{access.Authenticated}, Bearer: r.Header.Get("Authorization") != "" && name != "cert"}, nil
	}
}

func (d *door) Authorize(r *access.Request) (bool, string) {
	d.asked = append(d.asked, *r)
	return d.allow(r), "because"
}

// guarded is a server behind a door, with a cloud that answers 299 and tells what credentials came to it.
func guarded(t *testing.T, online bool, allow func(*access.Request) bool) (*Server, *door) {
	w := newWorld(t, 10)
	w.load(pods, thing{ns: "shop", name: "p"})
	d := &door{allow: allow}
	return w.server(func(c *Config) {
		c.Authenticator, c.Authorizer = d, d
		c.Online = func() bool { return online }
		c.Fallback = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Sent", r.Header.Get("Authorization"))
			w.WriteHeader(299)
		})
	}), d
}

func allowNone(*access.Request) bool { return false }
func allowAll(*access.Request) bool  { return true }

const podPath = "/api/v1/namespaces/shop/pods/p"

func TestWhoIsNotAllowedGetsNothing(t *testing.T) {
	s, _ := guarded(t, true, allowNone)
	for _, c := range []struct {
		method, path, user string
		code               int
		text               string
	}{
		{"GET", podPath, "", 403, `pods \"p\" is forbidden: User \"system:anonymous\" cannot get resource \"pods\" in API group \"\" in the namespace \"shop\": because`},
		{"GET", "/api/v1/pods?watch=1", "ann", 403, `pods is forbidden: User \"ann\" cannot watch resource \"pods\" in API group \"\" at the cluster scope: because`},
		{"GET", "/api/v1/namespaces/shop/pods/p/log", "ann", 403, `cannot get resource \"pods/log\" in API group`},
		{"DELETE", podPath, "ann", 403, `cannot delete resource`},
		{"POST", "/apis/apps/v1/namespaces/shop/deployments", "ann", 403, `deployments.apps is forbidden`},
		{"GET", "/api", "ann", 403, `forbidden: User \"ann\" cannot get path \"/api\": because`},
		{"GET", "/no<b>", "ann", 403, `cannot get path \"/no\u0026lt;b\u0026gt;\"`},
		{"GET", podPath, "bad", 401, `"message":"Unauthorized"`},
	} {
		got := call(t, s, c.method, c.path, "X-Test-User", c.user)
		if got.Code != c.code || !strings.Contains(got.Body.String(), c.text) {
			t.Errorf("%s %s as %q: %d\n%s", c.method, c.path, c.user, got.Code, got.Body)
		}
		if got.Header().Get("Www-Authenticate") != "" {
			t.Error("a challenge, which kube-apiserver never sends")
		}
	}
}

// TestATokenIsTheCloudsToJudge: what is not allowed here is asked with the token there; without a way there it is refused,
// but for writes, of which nobody knows.
func TestATokenIsTheCloudsToJudge(t *testing.T) {
	for _, c := range []struct {
		method string
		online bool
		code   int
	}{
		{"GET", true, 299}, {"GET", false, 403}, {"DELETE", true, 299}, {"DELETE", false, 299},
	} {
		s, _ := guarded(t, c.online, allowNone)
		got := call(t, s, c.method, podPath, "X-Test-User", "ann", "Authorization", "Bearer t")
		if got.Code != c.code {
			t.Errorf("%s, online %v: %d", c.method, c.online, got.Code)
		}
		if got.Code == 299 && got.Header().Get("X-Sent") != "Bearer t" {
			t.Error("the token was not sent")
		}
	}
}

// TestOtherPathsAreNobodysToWrite: they answer any method, so that none is passed over.
func TestOtherPathsAreNobodysToWrite(t *testing.T) {
	s, _ := guarded(t, false, allowNone)
	for _, path := range []string{"/healthz", "/apis", "/api/v1"} {
		if got := call(t, s, "POST", path, "X-Test-User", "ann", "Authorization", "Bearer t"); got.Code != 403 {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}

// FuzzRulesSeeWhatIsServed: what is decided about and what is answered with must be the same, whatever the path.
func FuzzRulesSeeWhatIsServed(f *testing.F) {
	for _, path := range []string{
		podPath, "/api/v1/namespaces/a", "/api/v1/namespaces/a/status", "/apis/apps/v1/namespaces/a/deployments/d/scale", "/api/v1/watch/pods",
		"/api/v1/namespaces//pods", "/apis/g/v1/namespaces/a/status", "/api/v1//", "/api/v1/watch/namespaces/a/finalize", "/api/v1/a/b/c/d",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}}
		served, ok := parseTarget(path)
		ask := access.Parse(r)
		if !ok || served.bare || strings.HasPrefix(path, "//") {
			return // not served as a resource
		}
		itself := served.resource == "namespaces" && ask.Namespace == served.name // a namespace is in itself
		if ask.Resource != served.resource || ask.Group != served.group || ask.Name != served.name || ask.Subresource != served.subresource ||
			ask.Namespace != served.namespace && !itself {
			t.Errorf("%q: decided about %+v, served %+v", path, ask, served)
		}
	})
}

// TestOnlyWhatOneIsLetInByIsSent: who is known by a certificate can't have a call made with another's token.
func TestOnlyWhatOneIsLetInByIsSent(t *testing.T) {
	s, _ := guarded(t, true, allowAll)
	got := call(t, s, "DELETE", podPath, "X-Test-User", "cert", "Authorization", "Bearer t")
	if got.Code != 299 || got.Header().Get("X-Sent") != "" {
		t.Errorf("%d, sent %q", got.Code, got.Header().Get("X-Sent"))
	}
}

func TestActingAsAnother(t *testing.T) {
	s, d := guarded(t, false, allowAll)
	got := call(t, s, "GET", podPath, "X-Test-User", "ann", "Impersonate-User", "system:serviceaccount:shop:till",
		"Impersonate-Extra-Scopes%2fa", "x", "Impersonate-Uid", "u")
	if got.Code != http.StatusOK || len(d.asked) != 4 {
		t.Fatalf("%d, asked %+v", got.Code, d.asked)
	}
	want := []string{"serviceaccounts//shop/till", "userextras/scopes/a//x", "uids///u"}
	for i, text := range want {
		a := d.asked[i]
		if got := a.Resource + "/" + a.Subresource + "/" + a.Namespace + "/" + a.Name; got != text || a.Verb != "impersonate" || a.User.Name != "ann" {
			t.Errorf("asked %s, want %s", got, text)
		}
	}
	last := d.asked[3]
	if last.User.Name != "system:serviceaccount:shop:till" || strings.Join(last.User.Groups, ",") !=
		"system:serviceaccounts,system:serviceaccounts:shop,system:authenticated" {
		t.Errorf("%+v", last.User)
	}
	s, _ = guarded(t, false, func(r *access.Request) bool { return r.Verb != "impersonate" })
	got = call(t, s, "GET", podPath, "X-Test-User", "ann", "Impersonate-User", "bob")
	if got.Code != 403 || !strings.Contains(got.Body.String(), `users \"bob\" is forbidden: User \"ann\" cannot impersonate resource \"users\"`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got = call(t, s, "GET", podPath, "X-Test-User", "ann", "Impersonate-Group", "g"); got.Code != 400 {
		t.Errorf("a group without a user: %d", got.Code)
	}
}
