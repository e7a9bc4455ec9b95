//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// everythingOnDemand gives an edge nothing before it is asked for.
const everythingOnDemand = `scopes:
- name: on demand
  edges: ["edge-*"]
  rules:
  - {group: "*", resource: "*", onDemand: true}
`

var (
	deployments = resource{"deployments.apps", "/apis/apps/v1", "deployments"}
	gadgets     = resource{"gadgets.demand.io", "/apis/demand.io/v1", "gadgets"}
	gadgetsV2   = resource{"gadgets.demand.io", "/apis/demand.io/v2", "gadgets"}
)

func deployment(namespace, name string) string {
	return fmt.Sprintf(`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":%q,"namespace":%q},"spec":{"replicas":0,`+
		`"selector":{"matchLabels":{"app":%q}},"template":{"metadata":{"labels":{"app":%q}},`+
		`"spec":{"containers":[{"name":"main","image":"registry.example/app:1.0"}]}}}}`, name, namespace, name, name)
}

// gadgetDefinition defines gadgets.demand.io in one version.
func gadgetDefinition(version, field string) string {
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.demand.io"},
"spec":{"group":"demand.io","scope":"Namespaced","names":{"plural":"gadgets","singular":"gadget","kind":"Gadget","listKind":"GadgetList"},
"versions":[{"name":%q,"served":true,"storage":true,
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{%q:{"type":"string"}}}}}}}]}}`, version, field)
}

func gadget(version, name, field string) string {
	return fmt.Sprintf(`{"apiVersion":"demand.io/%s","kind":"Gadget","metadata":{"name":%q,"namespace":"default"},"spec":{%q:"x"}}`,
		version, name, field)
}

// held waits until the edge holds n resources.
func (e *edge) held(n float64) {
	e.t.Helper()
	awaitMetric(e.t, e.http, "tombolo_edge_resources", func(v float64) bool { return v == n })
}

func TestKubectlReadsOnDemand(t *testing.T) {
	s, c := newKubeSite(t, everythingOnDemand)
	for i := range 5 {
		s.cloud.create(t, deployments, "default", deployment("default", fmt.Sprintf("on-demand-%d", i)))
	}
	s.edge.held(0)
	get := func(args ...string) string {
		return runKubectl(t, c, "", append([]string{"get", "deployments", "-A"}, args...)...)
	}
	atEdge := []string{"--server", s.local.base}
	want := get("-o", "yaml")
	began := time.Now()
	if got := get(append(atEdge, "-o", "yaml")...); got != want {
		t.Errorf("at the first read: %s", firstDifference(got, want))
	}
	t.Logf("first read after %s", time.Since(began).Round(time.Millisecond))
	s.edge.held(1)
	s.cut()
	for _, when := range []string{"without a link", "after a restart without a link"} {
		if got := get(append(atEdge, "-o", "yaml")...); got != want {
			t.Errorf("%s: %s", when, firstDifference(got, want))
		}
		if got := get(atEdge...); !strings.Contains(got, "on-demand-4") { // as a table, with ages in it
			t.Errorf("%s: %s", when, got)
		}
		s.restartEdge()
	}
	s.heal()
	s.cloud.remove(t, deployments, "default/on-demand-0")
	awaitSameItems(t, s.local, deployments.path(""), s.cloud, deployments.path(""))
	for i := 1; i < 5; i++ {
		s.cloud.remove(t, deployments, fmt.Sprintf("default/on-demand-%d", i))
	}
}

// TestSecretsAreNotImplied: a wildcard brings none to the edge.
func TestSecretsAreNotImplied(t *testing.T) {
	s, _ := newKubeSite(t, everythingOnDemand)
	s.cloud.create(t, secrets, "default", secret("default", "not-implied", "x"))
	for range 3 {
		if _, err := s.local.do(t.Context(), http.MethodGet, secrets.path("default"), nil); err != nil {
			t.Fatal(err)
		}
	}
	s.local.get(t, configMaps.path("default"))
	s.edge.held(1)
	if n := mustMetric(t, s.edge.http, "tombolo_edge_resources_on_demand"); n != 1 {
		t.Errorf("%g resources on demand", n)
	}
}

// awaitHeld reads a resource until the edge holds it and nothing else. Until discovery has come there, reads pass through.
func (s *site) awaitHeld(r resource) {
	s.t.Helper()
	began := time.Now()
	eventually(s.t, func() error {
		s.local.get(s.t, r.path(""))
		if n := mustMetric(s.t, s.edge.http, "tombolo_edge_resources"); n != 1 {
			return fmt.Errorf("%g resources are held", n)
		}
		return nil
	})
	s.t.Logf("%s: held after %s", r.name, time.Since(began).Round(time.Millisecond))
}

// awaitStatus waits until the edge answers a path so, and tells how long it took.
func (s *site) awaitStatus(path string, status int) {
	s.t.Helper()
	began := time.Now()
	eventually(s.t, func() error {
		got, err := s.local.do(s.t.Context(), http.MethodGet, path, nil)
		if err == nil && got.status != status {
			err = fmt.Errorf("GET %s: %d %.200s", path, got.status, got.body)
		}
		return err
	})
	s.t.Logf("GET %s: %d after %s", path, status, time.Since(began).Round(time.Millisecond))
}

// TestDefinitionsComeAndGo follows a CRD that is created, deleted, and created anew with another version and schema.
func TestDefinitionsComeAndGo(t *testing.T) {
	s, c := newKubeSite(t, everythingOnDemand)
	for _, r := range []struct {
		resource
		version, field string
	}{{gadgets, "v1", "a"}, {gadgetsV2, "v2", "b"}, {gadgets, "v1", "c"}} {
		s.cloud.create(t, definitions, "", gadgetDefinition(r.version, r.field))
		s.awaitStatus(r.path(""), http.StatusOK)
		runKubectl(t, c, "", "wait", "--for=condition=Established", "crd/gadgets.demand.io")
		in := gadgetInformer(t, s.local.base, r.version)
		o := s.cloud.create(t, r.resource, "default", gadget(r.version, "g", r.field))
		eventually(t, func() error { return in.holds(o) })
		s.awaitHeld(r.resource)
		get := []string{"get", "gadgets." + r.version + ".demand.io", "-A", "-o", "yaml"} // what kubectl knows may be older
		want := runKubectl(t, c, "", get...)
		if got := runKubectl(t, c, "", append(get, "--server", s.local.base)...); got != want {
			t.Errorf("%s: %s", r.version, firstDifference(got, want))
		}
		s.cloud.remove(t, definitions, "gadgets.demand.io")
		s.awaitStatus(r.path(""), http.StatusNotFound)
		s.edge.held(0)
		in.stop()
	}
}

// gadgetCache is an informer of gadgets in one version.
type gadgetCache struct {
	cache.SharedIndexInformer
	stop func()
}

func gadgetInformer(t *testing.T, base, version string) *gadgetCache {
	t.Helper()
	client, err := dynamic.NewForConfig(&rest.Config{Host: base, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	in := factory.ForResource(schema.GroupVersionResource{Group: "demand.io", Version: version, Resource: "gadgets"}).Informer()
	factory.Start(ctx.Done())
	stop := func() {
		cancel()
		factory.Shutdown()
	}
	t.Cleanup(stop)
	eventually(t, func() error {
		if !in.HasSynced() {
			return fmt.Errorf("the informer of %s does not sync", version)
		}
		return nil
	})
	return &gadgetCache{in, stop}
}

func (g *gadgetCache) holds(o guarantee.Object) error {
	items := g.GetStore().List()
	same := func(item any) bool { return item.(*unstructured.Unstructured).GetUID() == types.UID(o.UID) }
	if len(items) != 1 || !slices.ContainsFunc(items, same) {
		return fmt.Errorf("the informer has %d objects", len(items))
	}
	return nil
}

// TestDemandOutlivesAKillBeforeTheFirstSync: the hub can't reach the API server when the resource is asked for.
func TestDemandOutlivesAKillBeforeTheFirstSync(t *testing.T) {
	c := sharedCluster(t)
	cloud := kubeAPI(t, c)
	toCloud := newLink(t, strings.TrimPrefix(c.URL, "https://"))
	h := newHub(t, hubConfig{kubeconfig: viaLink(t, c, toCloud.Addr), scopes: everythingOnDemand})
	h.start()
	s := joinSite(t, h, cloud)
	cloud.create(t, deployments, "default", deployment("default", "waited-for"))
	toCloud.BlackHole()
	short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if got, err := s.local.do(short, http.MethodGet, deployments.path(""), nil); err == nil && got.status == http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	awaitMetric(t, s.edge.http, "tombolo_edge_resources_on_demand", func(v float64) bool { return v == 1 })
	s.edge.held(0)
	s.edge.kill()
	s.edge.check()
	toCloud.Reset()
	s.edge.start()
	s.edge.held(1) // nobody has asked again
	awaitSameItems(t, s.local, deployments.path(""), cloud, deployments.path(""))
	s.cut()
	sameItems(t, "what came after the restart", s.local.list(t, deployments.path("")), cloud.list(t, deployments.path("")))
	cloud.remove(t, deployments, "default/waited-for")
}
