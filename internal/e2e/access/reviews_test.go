//go:build e2e

package access

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/edgehub/authz"
	"github.com/tombolo-sync/tombolo/internal/access"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// questions is how many are asked, over worlds of roles and bindings that change between them.
const (
	questions = 4000
	worlds    = 8
)

// TestLocalDecisionsAreThoseOfTheAPIServer generates roles, bindings and requests, and asks both.
func TestLocalDecisionsAreThoseOfTheAPIServer(t *testing.T) {
	c := cluster.New(t, cluster.Config{})
	client, err := c.AdminClient()
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	k := &kube{t: t, url: c.URL, client: client}
	random := rand.New(rand.NewPCG(1, 37)) //nolint:gosec // a fixed seed
	g := &generator{random: random}
	k.must(http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"a"}}`)
	k.must(http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"b"}}`)
	var allowed, differ atomic.Int64
	for world := range worlds {
		g.write(k, world)
		local := authz.New(k.logs(), slog.New(slog.DiscardHandler))
		eg := &errgroup.Group{}
		eg.SetLimit(8)
		for range questions / worlds {
			r := g.request()
			eg.Go(func() error {
				want, reason, err := k.review(r)
				if err != nil {
					return err
				}
				got, why := local.Authorize(r)
				if got {
					allowed.Add(1)
				} else if letters(why) != letters(reason) {
					t.Errorf("%+v: refused because %q, upstream %q", r, why, reason)
				}
				if got != want && differ.Add(1) < 10 {
					t.Errorf("%+v as %+v: %v, upstream %v (%s)", r, r.User, got, want, reason)
				}
				return nil
			})
		}
		if err := eg.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d questions, %d allowed, %d differ", questions, allowed.Load(), differ.Load())
	if n := allowed.Load(); n < questions/10 || n > questions*9/10 {
		t.Errorf("%d of %d are allowed: the cases prove little", n, questions)
	}
}

// letters returns what is the same for all orders of a reason's parts: upstream looks at bindings in an order of chance.
func letters(reason string) (out [256]int) {
	for _, b := range []byte(reason) {
		out[b]++
	}
	return out
}

// kube is the API server, as its admin.
type kube struct {
	t      *testing.T
	url    string
	client *http.Client
}

func (k *kube) do(method, path, body string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(k.t.Context(), method, k.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := k.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, raw, err
}

func (k *kube) must(method, path, body string) []byte {
	k.t.Helper()
	code, raw, err := k.do(method, path, body)
	if err != nil || code > 299 {
		k.t.Fatalf("%s %s: %d %v\n%s", method, path, code, err, raw)
	}
	return raw
}

// review asks the API server.
func (k *kube) review(r *access.Request) (allowed bool, reason string, err error) {
	spec := authorizationv1.SubjectAccessReviewSpec{User: r.User.Name, Groups: r.User.Groups}
	if r.OfResource() {
		spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
			Namespace: r.Namespace, Verb: r.Verb, Group: r.Group, Version: "v1", Resource: r.Resource, Subresource: r.Subresource, Name: r.Name,
		}
	} else {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: r.Path, Verb: r.Verb}
	}
	body, err := json.Marshal(authorizationv1.SubjectAccessReview{Spec: spec})
	if err != nil {
		return false, "", err
	}
	code, raw, err := k.do(http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", string(body))
	if err != nil || code != http.StatusCreated {
		return false, "", fmt.Errorf("review: %d %w\n%s", code, err, raw)
	}
	var out authorizationv1.SubjectAccessReview
	err = json.Unmarshal(raw, &out)
	return out.Status.Allowed, out.Status.Reason, err
}

// held are the logs of an edge that has all of it.
type held map[string]*watchlog.Log

func (h held) Log(gvr schema.GroupVersionResource) (*watchlog.Log, error) {
	if l := h[gvr.Resource]; l != nil {
		return l, nil
	}
	return nil, apidoc.ErrUnknownResource
}

// logs reads everything there is, the API server's own roles too.
func (k *kube) logs() held {
	k.t.Helper()
	out := held{}
	for _, name := range []string{"roles", "clusterroles", "rolebindings", "clusterrolebindings"} {
		l := watchlog.New(&watchlog.Resource{Group: rbacv1.GroupName, Version: "v1", Name: name}, watchlog.Config{})
		var list struct {
			Metadata struct{ ResourceVersion string }
			Items    []json.RawMessage
		}
		if err := json.Unmarshal(k.must(http.MethodGet, "/apis/rbac.authorization.k8s.io/v1/"+name, ""), &list); err != nil {
			k.t.Fatal(err)
		}
		content := watchlog.Content{Rev: 1 << 40, Floor: 1 << 40}
		for _, raw := range list.Items {
			o, err := l.Decoder().Decode(bytes.Clone(raw))
			if err != nil {
				k.t.Fatal(err)
			}
			content.Objects = append(content.Objects, o)
		}
		if err := l.Load(content); err != nil {
			k.t.Fatal(err)
		}
		out[name] = l
	}
	return out
}
