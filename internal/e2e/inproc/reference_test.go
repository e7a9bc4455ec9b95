package inproc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// needToKnow is a scope of what the pods of node mine refer to, and of the namespaces of a site.
const needToKnow = `{scopes: [{name: s, edges: ["*"], nodes: [mine], rules: [
  {resource: pods, boundToNode: spec.nodeName},
  {resource: secrets, referencedBy: [pods, serviceaccounts, persistentvolumes]},
  {resource: configmaps, referencedBy: [pods]},
  {resource: configmaps, namespaceSelector: site=mine},
  {resource: serviceaccounts, referencedBy: [pods]},
  {resource: persistentvolumeclaims, referencedBy: [pods]},
  {resource: persistentvolumes, referencedBy: [persistentvolumeclaims]}]}]}`

// graph is an embedded cloud in which objects refer to one another.
type graph struct {
	t     *testing.T
	cloud *embedded.Cloud
	api   http.Handler
	rnd   *rand.Rand
	scope scope.Scope
	// allowed are the keys that the edge was ever to hold, by resource.
	allowed map[schema.GroupResource]map[string]bool
}

var graphed = []schema.GroupResource{
	{Resource: "pods"}, {Resource: "secrets"}, {Resource: "configmaps"}, {Resource: "serviceaccounts"},
	{Resource: "persistentvolumeclaims"}, {Resource: "persistentvolumes"},
}

func newGraph(t *testing.T, seed uint64) *graph {
	c, err := embedded.Open(filepath.Join(t.TempDir(), "cloud"), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	file, err := scope.Parse([]byte(needToKnow))
	if err != nil {
		t.Fatal(err)
	}
	g := &graph{
		t: t, cloud: c, api: embedded.NewAPI(c, http.NotFoundHandler()), rnd: rand.New(rand.NewPCG(seed, 2)), //nolint:gosec // a seed tells it all
		scope: file.For("edge-1"), allowed: map[schema.GroupResource]map[string]bool{},
	}
	for _, ns := range []string{"a", "b"} {
		g.send(http.MethodPost, "/api/v1/namespaces", object{"metadata": object{"name": ns}})
	}
	return g
}

type object = map[string]any

// send writes, and takes every answer: at random, much of it is there already or is not there.
func (g *graph) send(method, path string, body object) {
	g.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		g.t.Fatal(err)
	}
	req := httptest.NewRequest(method, path, bytes.NewReader(data))
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	w := httptest.NewRecorder()
	g.api.ServeHTTP(w, req)
	if w.Code == http.StatusBadRequest || w.Code == http.StatusUnprocessableEntity || w.Code >= 500 {
		g.t.Fatalf("%s %s: %s", method, path, w.Body)
	}
	for gr, keys := range g.due() {
		if g.allowed[gr] == nil {
			g.allowed[gr] = map[string]bool{}
		}
		for key := range keys {
			g.allowed[gr][key] = true
		}
	}
}

// due returns what the edge is to hold, with its bytes.
func (g *graph) due() map[schema.GroupResource]map[string]string {
	look := func(gr schema.GroupResource) (*watchlog.Snapshot, error) {
		l, err := g.cloud.Log(gr.WithVersion("v1"))
		if err != nil {
			return nil, err
		}
		s := l.Snapshot()
		return &s, nil
	}
	r := &scope.Resolver{Scope: g.scope, Look: look}
	out := map[schema.GroupResource]map[string]string{}
	for _, gr := range graphed {
		snap, err := look(gr)
		if err != nil {
			g.t.Fatal(err)
		}
		view, err := r.View(snap.Resource())
		if err != nil {
			g.t.Fatal(err)
		}
		out[gr] = map[string]string{}
		for o := range view.Objects(*snap) {
			out[gr][o.Key()] = string(o.JSON())
		}
	}
	return out
}

func (g *graph) some(kind string) string { return fmt.Sprint(kind, g.rnd.IntN(3)) }

// write makes, changes or deletes something.
func (g *graph) write() {
	ns := []string{"a", "b"}[g.rnd.IntN(2)]
	in := "/api/v1/namespaces/" + ns
	meta := func(name string) object { return object{"name": name} }
	remove := g.rnd.IntN(3) == 0
	post := func(collection, name string, o object) {
		g.send(http.MethodDelete, collection+"/"+name, object{"gracePeriodSeconds": 0})
		if !remove {
			o["metadata"] = meta(name)
			g.send(http.MethodPost, collection, o)
		}
	}
	switch g.rnd.IntN(8) {
	case 0:
		post(in+"/secrets", g.some("s"), object{"stringData": object{"x": fmt.Sprint(g.rnd.Uint32())}})
	case 1:
		g.send(http.MethodPatch, in+"/configmaps/"+g.some("m"), object{"data": object{"x": fmt.Sprint(g.rnd.Uint32())}})
	case 2:
		post(in+"/configmaps", g.some("m"), object{"data": object{"x": "y"}})
	case 3:
		post(in+"/serviceaccounts", g.some("sa"), object{"imagePullSecrets": []object{{"name": g.some("s")}}})
	case 4:
		post(in+"/persistentvolumeclaims", g.some("c"), object{"spec": object{
			"accessModes": []string{"ReadWriteOnce"}, "resources": object{"requests": object{"storage": "1Gi"}}, "volumeName": g.some("v"),
		}})
	case 5:
		post("/api/v1/persistentvolumes", g.some("v"), object{"spec": object{
			"accessModes": []string{"ReadWriteOnce"}, "capacity": object{"storage": "1Gi"}, "csi": object{
				"driver": "d", "volumeHandle": "h", "nodeStageSecretRef": object{"name": g.some("s"), "namespace": ns},
			},
		}})
	case 6:
		site := []any{"mine", "other", nil}[g.rnd.IntN(3)]
		g.send(http.MethodPatch, "/api/v1/namespaces/"+ns, object{"metadata": object{"labels": object{"site": site}}})
	default:
		post(in+"/pods", g.some("p"), object{"spec": object{
			"nodeName": []string{"mine", "other"}[g.rnd.IntN(2)], "serviceAccountName": g.some("sa"),
			"containers": []object{{"name": "c", "image": "i", "envFrom": []object{{"secretRef": object{"name": g.some("s")}}}}},
			"volumes": []object{
				{"name": "m", "configMap": object{"name": g.some("m")}},
				{"name": "c", "persistentVolumeClaim": object{"claimName": g.some("c")}},
			},
		}})
	}
}

// held returns what the edge holds, with its bytes.
func (e *edge) held() map[schema.GroupResource]map[string]string {
	out := map[schema.GroupResource]map[string]string{}
	for _, gr := range graphed {
		out[gr] = map[string]string{}
		l, err := e.Log(gr.WithVersion("v1"))
		if err != nil {
			continue
		}
		for o := range l.Snapshot().All("") {
			out[gr][o.Key()] = string(o.JSON())
		}
	}
	return out
}

func same(a, b map[schema.GroupResource]map[string]string) bool {
	return maps.EqualFunc(a, b, maps.Equal[map[string]string, map[string]string])
}

// foreign returns something that the edge holds and was never to, "" if there is nothing.
func (g *graph) foreign(e *edge) string {
	for gr, keys := range e.held() {
		for key := range keys {
			if !g.allowed[gr][key] {
				return fmt.Sprint(gr, " ", key)
			}
		}
	}
	return ""
}

// What the edge's pods refer to comes and goes with them, whatever happens in between, and nothing else ever comes.
func TestNeedToKnow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			g := newGraph(t, seed)
			sc := newScopes(t, needToKnow)
			addr, stop := startHub(t, g.cloud, sc, "127.0.0.1:0")
			e := startEdge(t, t.TempDir(), addr)
			for range 4 {
				for range 20 {
					g.write()
					if g.rnd.IntN(4) == 0 {
						time.Sleep(time.Duration(g.rnd.IntN(8)) * time.Millisecond)
					}
					if what := g.foreign(e); what != "" {
						t.Fatalf("the edge holds %s, to which nothing of its own refers", what)
					}
				}
				if g.rnd.IntN(2) == 0 { // away for some writes
					stop()
					for range 5 {
						g.write()
					}
					_, stop = startHub(t, g.cloud, sc, addr)
				}
				due := g.due()
				e.eventually("the edge holds what it needs", func() bool { return same(e.held(), due) })
			}
		})
	}
}

// An object that enters appears with its own revision, at a position where who watches sees it.
func TestEnteringObjectIsSeenByWatches(t *testing.T) {
	g := newGraph(t, 1)
	addr, _ := startHub(t, g.cloud, newScopes(t, needToKnow), "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), addr)
	g.send(http.MethodPost, "/api/v1/namespaces/a/secrets", object{"metadata": object{"name": "s0"}})
	g.send(http.MethodPost, "/api/v1/namespaces/a/secrets", object{"metadata": object{"name": "later"}})
	secrets := schema.GroupResource{Resource: "secrets"}
	var log *watchlog.Log
	e.eventually("the edge has secrets, of which it may hold none", func() bool {
		l, err := e.Log(secrets.WithVersion("v1"))
		log = l
		return err == nil && l.IsReady()
	})
	wake := make(watchlog.Signal, 1)
	reader, err := log.Snapshot().NewReader(wake)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	pod := object{"metadata": object{"name": "p"}, "spec": object{"nodeName": "mine", "containers": []object{{
		"name": "c", "image": "i", "envFrom": []object{{"secretRef": object{"name": "s0"}}},
	}}}}
	g.send(http.MethodPost, "/api/v1/namespaces/a/pods", pod)
	e.eventually("the secret has come", func() bool { return log.Snapshot().Get("a/s0") != nil })
	g.send(http.MethodDelete, "/api/v1/namespaces/a/pods/p", object{"gracePeriodSeconds": 0})
	e.eventually("the secret has gone", func() bool { return log.Snapshot().Get("a/s0") == nil })
	var seen []string
	for {
		page, err := reader.Read(make([]*watchlog.Event, 0, 8))
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range page.Events {
			seen = append(seen, fmt.Sprint(ev.Type, " ", ev.Object.Key()))
		}
		if !page.More && len(page.Events) == 0 {
			break
		}
	}
	if want := []string{"ADDED a/s0", "DELETED a/s0"}; !slices.Equal(seen, want) {
		t.Errorf("a watch saw %v, not %v", seen, want)
	}
}
