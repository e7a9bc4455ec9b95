package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/deploy/crds"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// cloud is a source of EdgeSites and EdgeScopes.
type cloud struct {
	t    *testing.T
	logs map[schema.GroupResource]*watchlog.Log
	rev  uint64
}

func newCloud(t *testing.T) *cloud {
	c := &cloud{t: t, logs: map[schema.GroupResource]*watchlog.Log{}, rev: 10}
	c.renew(Sites, "EdgeSite")
	c.renew(Scopes, "EdgeScope")
	return c
}

// renew gives the cloud an empty log of a resource.
func (c *cloud) renew(gr schema.GroupResource, kind string) {
	c.logs[gr] = watchlog.New(&watchlog.Resource{
		Group: gr.Group, Version: GroupVersion.Version, Name: gr.Resource, Kind: kind, ListKind: kind + "List", Custom: true,
	}, watchlog.Config{})
}

func (c *cloud) Open(_ context.Context, gr schema.GroupResource) (*watchlog.Log, func(), error) {
	return c.logs[gr], func() {}, nil
}

// start makes both logs ready and follows them.
func (c *cloud) start(r *Registry) {
	for _, l := range c.logs {
		if err := l.Load(watchlog.Content{Rev: c.rev, Floor: c.rev}); err != nil {
			c.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = r.Run(ctx) }()
	c.t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
}

// put writes an object.
func (c *cloud) put(gr schema.GroupResource, name string, body map[string]any) {
	c.t.Helper()
	c.rev++
	body["metadata"] = map[string]any{"name": name, "uid": "uid-" + name, "resourceVersion": fmt.Sprint(c.rev)}
	data, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	l := c.logs[gr]
	o, err := l.Decoder().Decode(data)
	if err != nil {
		c.t.Fatal(err)
	}
	c.commit(l, watchlog.Op{Key: name, Rev: c.rev, Object: o})
}

func (c *cloud) remove(gr schema.GroupResource, name string) {
	c.t.Helper()
	c.rev++
	c.commit(c.logs[gr], watchlog.Op{Key: name, Rev: c.rev})
}

func (c *cloud) commit(l *watchlog.Log, op watchlog.Op) {
	c.t.Helper()
	if err := l.Commit(l.Snapshot().Plan([]watchlog.Op{op}, c.rev)); err != nil {
		c.t.Fatal(err)
	}
	synctest.Wait()
}

func site(spec map[string]any) map[string]any { return map[string]any{"spec": spec} }

func rules(resource ...string) map[string]any {
	var out []map[string]any
	for _, r := range resource {
		out = append(out, map[string]any{"resource": r})
	}
	return map[string]any{"spec": map[string]any{"rules": out}}
}

// isClosed tells whether a channel is.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// resources returns the names of what the edge a may hold.
func resources(r *Registry) (out []string) {
	for _, gr := range r.For("a").Resources() {
		out = append(out, gr.Resource)
	}
	return out
}

func TestWhoMayBeHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t)
		r := New(c, slog.New(slog.DiscardHandler))
		if err := r.Check("a", time.Time{}); !errors.Is(err, ErrStarting) {
			t.Errorf("before the first list: %v", err)
		}
		c.start(r)
		if err := r.Check("a", time.Time{}); !errors.Is(err, ErrUnknown) {
			t.Errorf("without an EdgeSite: %v", err)
		}
		c.put(Scopes, "web", rules("pods", "services"))
		c.put(Sites, "a", site(map[string]any{"scopes": []string{"web"}}))
		if err := r.Check("a", time.Time{}); err != nil {
			t.Errorf("with an EdgeSite: %v", err)
		}
		if got, want := resources(r), []string{"pods", "services"}; !slices.Equal(got, want) {
			t.Errorf("holds %v, not %v", got, want)
		}
		changed := r.Changed()
		c.put(Sites, "a", site(map[string]any{"scopes": []string{"web"}, "suspended": true}))
		if err := r.Check("a", time.Time{}); !errors.Is(err, ErrSuspended) || !isClosed(changed) {
			t.Errorf("suspended: %v, told %t", err, isClosed(changed))
		}
		limit := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
		c.put(Sites, "a", site(map[string]any{"scopes": []string{"web"}, "certificatesNotBefore": limit}))
		if err := r.Check("a", limit.Add(-time.Second)); !errors.Is(err, ErrRevoked) {
			t.Errorf("an old certificate: %v", err)
		}
		if err := r.Check("a", limit); err != nil {
			t.Errorf("a new certificate: %v", err)
		}
		c.remove(Sites, "a")
		if err := r.Check("a", limit); !errors.Is(err, ErrUnknown) || len(resources(r)) > 0 {
			t.Errorf("deleted: %v, holds %v", err, resources(r))
		}
	})
}

func TestStatusSaysNothingNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t)
		r := New(c, slog.New(slog.DiscardHandler))
		c.start(r)
		c.put(Sites, "a", site(map[string]any{"scopes": []string{"node"}}))
		changed := r.Changed()
		s := site(map[string]any{"scopes": []string{"node"}})
		s["status"] = map[string]any{"connected": true, "hub": "h"}
		c.put(Sites, "a", s)
		if isClosed(changed) {
			t.Error("a status woke the sessions")
		}
	})
}

// What is said of one edge leaves the scopes of the others the very same, so that their sessions have nothing to do.
func TestScopesOfOtherEdgesStayTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t)
		r := New(c, slog.New(slog.DiscardHandler))
		c.start(r)
		c.put(Scopes, "web", rules("pods"))
		c.put(Sites, "a", site(map[string]any{"scopes": []string{"web"}}))
		before := r.For("a")
		c.put(Sites, "b", site(map[string]any{"scopes": []string{"web"}}))
		c.put(Scopes, "other", rules("services"))
		if !r.For("a").Same(before) {
			t.Error("the scope of a was made anew")
		}
		c.put(Scopes, "web", rules("services"))
		if r.For("a").Same(before) {
			t.Error("another rule made no other scope")
		}
	})
}

// What can't be used takes nothing from an edge: it is refused until that is mended, and then goes on.
func TestScopeThatCanNotBeUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t)
		r := New(c, slog.New(slog.DiscardHandler))
		c.start(r)
		c.put(Sites, "a", site(map[string]any{"scopes": []string{"web"}}))
		if err := r.Check("a", time.Time{}); !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "web") {
			t.Errorf("without its EdgeScope: %v", err)
		}
		c.put(Scopes, "web", rules("pods"))
		if err := r.Check("a", time.Time{}); err != nil {
			t.Errorf("with its EdgeScope: %v", err)
		}
		broken := map[string]any{"spec": map[string]any{"rules": []map[string]any{{"resource": "pods", "labelSelector": "a in"}}}}
		c.put(Scopes, "web", broken)
		if err := r.Check("a", time.Time{}); !errors.Is(err, ErrUnusable) {
			t.Errorf("with a selector that doesn't parse: %v", err)
		}
		if got := resources(r); !slices.Equal(got, []string{"pods"}) {
			t.Errorf("holds %v: what was is to stay", got)
		}
		c.remove(Scopes, "web")
		if got := resources(r); !slices.Equal(got, []string{"pods"}) {
			t.Errorf("holds %v after the EdgeScope was deleted: what was is to stay until the EdgeSite says otherwise", got)
		}
		c.put(Scopes, "web", rules("services"))
		if got := resources(r); !slices.Equal(got, []string{"services"}) || r.Check("a", time.Time{}) != nil {
			t.Errorf("holds %v once it is mended", got)
		}
	})
}

// A hub that can't read its EdgeSites any more goes on with what they said.
func TestLostSourceChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t)
		r := New(c, slog.New(slog.DiscardHandler))
		c.start(r)
		c.put(Sites, "a", site(map[string]any{"scopes": []string{"node"}}))
		old := c.logs[Sites]
		c.renew(Sites, "EdgeSite")
		old.Close(nil)
		time.Sleep(time.Minute)
		if err := r.Check("a", time.Time{}); err != nil {
			t.Errorf("while the log is away: %v", err)
		}
		if err := c.logs[Sites].Load(watchlog.Content{Rev: c.rev, Floor: c.rev}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := r.Check("a", time.Time{}); !errors.Is(err, ErrUnknown) {
			t.Errorf("after a list without it: %v", err)
		}
	})
}

// The definitions and the Go types say the same.
func TestDefinitionsHaveEveryField(t *testing.T) {
	for _, c := range []struct {
		name string
		text []byte
		path []string
		typ  reflect.Type
	}{
		{"EdgeScope rule", crds.EdgeScopes, []string{"spec", "rules", "[]"}, reflect.TypeFor[scope.Rule]()},
		{"EdgeSite spec", crds.EdgeSites, []string{"spec"}, reflect.TypeFor[Spec]()},
		{"EdgeSite status", crds.EdgeSites, []string{"status"}, reflect.TypeFor[Status]()},
		{"EdgeSite condition", crds.EdgeSites, []string{"status", "conditions", "[]"}, reflect.TypeFor[metav1.Condition]()},
	} {
		want := fieldsOf(c.typ)
		if got := properties(t, c.text, c.path); !slices.Equal(got, want) {
			t.Errorf("%s: the definition has %v, the type %v", c.name, got, want)
		}
	}
}

func fieldsOf(t reflect.Type) (out []string) {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// properties returns the names of the properties at a path of a definition's schema.
func properties(t *testing.T, text []byte, path []string) (out []string) {
	t.Helper()
	var d struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	at := d.Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, step := range path {
		if step == "[]" {
			at = at["items"].(map[string]any)
			continue
		}
		at = at["properties"].(map[string]any)[step].(map[string]any)
	}
	for name := range at["properties"].(map[string]any) {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
