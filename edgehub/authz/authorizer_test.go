package authz

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/access"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// held are the logs of an edge.
type held struct {
	t    testing.TB
	rev  uint64
	logs map[string]*watchlog.Log
}

func (h *held) Log(gvr schema.GroupVersionResource) (*watchlog.Log, error) {
	if l := h.logs[gvr.Resource]; l != nil && gvr.Group == rbacv1.GroupName && gvr.Version == "v1" {
		return l, nil
	}
	return nil, apidoc.ErrUnknownResource
}

// hold adds empty logs.
func (h *held) hold(names ...string) {
	h.t.Helper()
	for _, name := range names {
		l := watchlog.New(&watchlog.Resource{
			Group: rbacv1.GroupName, Version: "v1", Name: name, Namespaced: strings.HasPrefix(name, "role"),
		}, watchlog.Config{})
		h.rev++
		if err := l.Load(watchlog.Content{Rev: h.rev, Floor: h.rev}); err != nil {
			h.t.Fatal(err)
		}
		h.logs[name] = l
	}
}

// put writes an object; without a text it deletes it.
func (h *held) put(resource, key, text string) {
	h.t.Helper()
	h.rev++
	l := h.logs[resource]
	op := watchlog.Op{Key: key, Rev: h.rev}
	if text != "" {
		namespace, name, ok := strings.Cut(key, "/")
		if !ok {
			namespace, name = "", key
		}
		meta := fmt.Sprintf(`{"metadata":{"name":%q,"uid":"u","resourceVersion":"%d"`, name, h.rev)
		if namespace != "" {
			meta += fmt.Sprintf(`,"namespace":%q`, namespace)
		}
		o, err := l.Decoder().Decode([]byte(meta + "}," + text + "}"))
		if err != nil {
			h.t.Fatal(err)
		}
		op.Object = o
	}
	if err := l.Commit(l.Snapshot().Plan([]watchlog.Op{op}, h.rev)); err != nil {
		h.t.Fatal(err)
	}
}

func newHeld(t testing.TB, names ...string) (*held, *Authorizer) {
	h := &held{t: t, logs: map[string]*watchlog.Log{}}
	h.hold(names...)
	return h, New(h, slog.New(slog.DiscardHandler))
}

var (
	ann     = &access.User{Name: "ann", Groups: []string{"team", access.Authenticated}}
	account = &access.User{Name: "system:serviceaccount:shop:till", Groups: access.ServiceAccountGroups("shop")}
)

func TestRightsFollowRolesAndBindingsAtOnce(t *testing.T) {
	h, a := newHeld(t, resources[:]...)
	get := &access.Request{User: ann, Verb: "get", Resource: "pods", Namespace: "shop", Name: "p"}
	expect := func(want bool, reason string) {
		t.Helper()
		if ok, why := a.Authorize(get); ok != want || why != reason {
			t.Fatalf("%v, %q; want %v, %q", ok, why, want, reason)
		}
	}
	expect(false, "")
	h.put("rolebindings", "shop/b", `"subjects":[{"kind":"Group","name":"team"}],"roleRef":{"kind":"Role","name":"viewer"}`)
	expect(false, `rbac: RBAC: role.rbac.authorization.k8s.io "viewer" not found`)
	h.put("roles", "shop/viewer", `"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]`)
	expect(true, "")
	h.put("roles", "shop/viewer", `"rules":[{"verbs":["list"],"apiGroups":[""],"resources":["pods"]}]`)
	expect(false, "")
	h.put("clusterroles", "all", `"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]`)
	h.put("clusterrolebindings", "b", `"subjects":[{"kind":"User","name":"ann"}],"roleRef":{"kind":"ClusterRole","name":"all"}`)
	expect(true, "")
	h.put("clusterrolebindings", "b", "")
	expect(false, "")
}

// TestWhatCantBeReadGivesNoRights: an object that upstream could never have written.
func TestWhatCantBeReadGivesNoRights(t *testing.T) {
	h, a := newHeld(t, resources[:]...)
	h.put("clusterroles", "bad", `"rules":"everything"`)
	h.put("clusterroles", "good", `"rules":[{"verbs":["get"],"nonResourceURLs":["/logs/*"]}]`)
	for _, role := range []string{"bad", "good"} {
		h.put("clusterrolebindings", role, `"subjects":[{"kind":"User","name":"ann"}],"roleRef":{"kind":"ClusterRole","name":"`+role+`"}`)
	}
	if ok, _ := a.Authorize(&access.Request{User: ann, Verb: "get", Path: "/logs/x"}); !ok {
		t.Error("the other role does not count")
	}
	if ok, _ := a.Authorize(&access.Request{User: ann, Verb: "get", Resource: "pods"}); ok {
		t.Error("allowed")
	}
}

func TestAnEdgeWithoutRolesSaysSo(t *testing.T) {
	h, a := newHeld(t, "clusterroles", "clusterrolebindings", "rolebindings")
	h.put("clusterroles", "view", `"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]`)
	h.put("rolebindings", "shop/b", `"subjects":[{"kind":"ServiceAccount","name":"till"}],"roleRef":{"kind":"ClusterRole","name":"view"}`)
	if ok, _ := a.Authorize(&access.Request{User: account, Verb: "get", Resource: "pods", Namespace: "shop"}); !ok {
		t.Error("what is held does not count")
	}
	ok, why := a.Authorize(&access.Request{User: account, Verb: "get", Resource: "pods", Namespace: "other"})
	if ok || !strings.Contains(why, "does not hold roles of rbac") {
		t.Errorf("%v, %q", ok, why)
	}
	for path, want := range map[string]bool{"/api": true, "/apis/apps/v1": true, "/openapi/v3": true, "/version": true, "/metrics": false} {
		if ok, _ := a.Authorize(&access.Request{User: ann, Verb: "get", Path: path}); ok != want {
			t.Errorf("%s for an authenticated user: %v", path, ok)
		}
	}
	for path, want := range map[string]bool{"/api": false, "/livez": true, "/version": true} {
		if ok, _ := a.Authorize(&access.Request{User: access.Nobody(), Verb: "get", Path: path}); ok != want {
			t.Errorf("%s for nobody: %v", path, ok)
		}
	}
}

func TestMastersMayDoEverything(t *testing.T) {
	_, a := newHeld(t)
	if ok, _ := a.Authorize(&access.Request{User: &access.User{Name: "x", Groups: []string{access.Masters}}, Verb: "delete", Resource: "pods"}); !ok {
		t.Error("refused")
	}
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule string
		r    access.Request
		want bool
	}{
		{"pods", access.Request{Resource: "pods"}, true},
		{"pods", access.Request{Resource: "pods", Subresource: "log"}, false},
		{"pods/", access.Request{Resource: "pods"}, false},
		{"pods/log", access.Request{Resource: "pods", Subresource: "log"}, true},
		{"pods/log", access.Request{Resource: "pods"}, false},
		{"*/log", access.Request{Resource: "pods", Subresource: "log"}, true},
		{"*/log", access.Request{Resource: "pods"}, false},
		{"*/g", access.Request{Resource: "pods", Subresource: "log"}, false},
		{"*", access.Request{Resource: "pods", Subresource: "log"}, true},
		{"x/pods/log", access.Request{Resource: "pods", Subresource: "log"}, false},
	} {
		if got := coversResource([]string{c.rule}, &c.r); got != c.want {
			t.Errorf("%s covers %s/%s: %v", c.rule, c.r.Resource, c.r.Subresource, got)
		}
	}
}

// BenchmarkAuthorize decides among 1,000 roles and 3,000 bindings; the user has a few of them.
func BenchmarkAuthorize(b *testing.B) {
	h, a := newHeld(b, resources[:]...)
	for i := range 1000 {
		h.put("roles", fmt.Sprintf("ns-%d/r", i), `"rules":[{"verbs":["get","list","watch"],"apiGroups":["","apps"],"resources":["pods","configmaps"]}]`)
		for k := range 3 {
			h.put("rolebindings", fmt.Sprintf("ns-%d/b-%d", i, k), fmt.Sprintf(
				`"subjects":[{"kind":"User","name":"u-%d"},{"kind":"Group","name":"g-%d"}],"roleRef":{"kind":"Role","name":"r"}`, (i+k)%100, i%10))
		}
	}
	user := &access.User{Name: "u-7", Groups: []string{"g-3", "g-4", access.Authenticated}}
	for name, r := range map[string]*access.Request{
		"allowed": {User: user, Verb: "watch", Group: "apps", Resource: "configmaps", Namespace: "ns-7"},
		"refused": {User: user, Verb: "watch", Group: "apps", Resource: "secrets", Namespace: "ns-7"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a.Authorize(r)
			}
		})
	}
	b.Run("index", func(b *testing.B) {
		for b.Loop() {
			a.build(a.cur.Load(), a.look())
		}
	})
}
