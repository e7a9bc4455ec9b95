//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

// oddDefinition has names that no rule of grammar leads to.
const oddDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"oxen.farm.ex.io"},
"spec":{"group":"farm.ex.io","scope":"Cluster","names":{"plural":"oxen","singular":"ox","kind":"PloughAnimal","listKind":"HerdOfOxen","shortNames":["px"]},
"versions":[{"name":"v1beta2","served":true,"storage":true,
"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

var oxen = resource{"oxen.farm.ex.io", "/apis/farm.ex.io/v1beta2", "oxen"}

// define creates a CRD, unless it is there, and waits until it is served.
func define(t *testing.T, c *cluster.Cluster, definition, name string) {
	t.Helper()
	got, err := kubeAPI(t, c).do(t.Context(), http.MethodPost, definitions.path(""), []byte(definition))
	if err != nil || got.status != http.StatusCreated && got.status != http.StatusConflict {
		t.Fatal(got.status, err)
	}
	runKubectl(t, c, "", "wait", "--for=condition=Established", "crd/"+name)
}

// TestKindsAreNotGuessedFromNames serves a resource whose plural, kind and list kind have nothing in common.
func TestKindsAreNotGuessedFromNames(t *testing.T) {
	c := sharedCluster(t)
	define(t, c, oddDefinition, "oxen.farm.ex.io")
	cloud := kubeAPI(t, c)
	cloud.create(t, oxen, "", `{"apiVersion":"farm.ex.io/v1beta2","kind":"PloughAnimal","metadata":{"name":"bill"}}`)
	s, _ := newKubeSite(t, "scopes:\n- name: farm\n  edges: [\"edge-*\"]\n  rules:\n  - {group: farm.ex.io, resource: oxen}\n")
	awaitSameItems(t, s.local, oxen.path(""), cloud, oxen.path(""))
	s.cut()
	if l := s.local.list(t, oxen.path("")); l.Kind != "HerdOfOxen" || len(l.Items) != 1 {
		t.Errorf("got a %s of %d", l.Kind, len(l.Items))
	}
	for _, name := range []string{"oxen", "ox", "px", "oxen.v1beta2.farm.ex.io"} {
		if out := runKubectl(t, c, "", "--server", s.local.base, "get", name, "-o", "name"); out != "ploughanimal.farm.ex.io/bill\n" {
			t.Errorf("kubectl get %s: %s", name, out)
		}
	}
}

// TestMetadataAndFullClientsSideBySide reads the same objects in full and without their bodies at once.
func TestMetadataAndFullClientsSideBySide(t *testing.T) {
	s, _ := kubeConfigMaps(t, "side-by-side")
	for i := range 20 {
		s.cloud.create(t, configMaps, "side-by-side", configMap("side-by-side", fmt.Sprintf("c-%02d", i), "a", "secret text"))
	}
	awaitSameItems(t, s.local, configMaps.path(""), s.cloud, configMaps.path("side-by-side"))
	want := map[string][]byte{}
	accepts := []string{
		"application/json", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
		"application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml",
	}
	read := func(accept string) []byte {
		got, err := s.local.ask(t.Context(), inquiry{method: http.MethodGet, path: configMaps.path("side-by-side"), accept: accept}, "resourceVersion=0")
		if err != nil || got.status != http.StatusOK {
			t.Errorf("%s: %d %v", accept, got.status, err)
		}
		return got.body
	}
	for _, accept := range accepts {
		want[accept] = read(accept)
		if full := !strings.Contains(accept, "as="); bytes.Contains(want[accept], []byte("secret text")) != full {
			t.Errorf("%s: %.500s", accept, want[accept])
		}
	}
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			accept := accepts[i%len(accepts)]
			if got := read(accept); normalize(got) != normalize(want[accept]) {
				t.Errorf("%s: %s", accept, firstDifference(string(got), string(want[accept])))
			}
		})
	}
	wg.Wait()
}

// TestLargeObjectsAndListsPass has objects of nearly the size that etcd takes, and 42 MB of them.
func TestLargeObjectsAndListsPass(t *testing.T) {
	c := sharedCluster(t)
	define(t, c, widgetDefinition, "widgets.ex.io")
	cloud := kubeAPI(t, c)
	cloud.create(t, namespaces, "", `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"large"}}`)
	color := "<" + strings.Repeat("0123456789abcde", 1400<<10/15)
	for i := range 30 {
		cloud.create(t, widgets, "large", widget("large", fmt.Sprintf("w-%02d", i), color))
	}

	s, _ := newKubeSite(t, "scopes:\n- name: large\n  edges: [\"edge-*\"]\n  rules:\n  - {group: ex.io, resource: widgets, namespaces: [large]}\n")
	awaitSameItems(t, s.local, widgets.path("large"), cloud, widgets.path("large"))
	got := s.local.get(t, widgets.path("large"))
	if len(got.body) < 40<<20 {
		t.Errorf("a list of %d bytes", len(got.body))
	}
	for _, path := range []string{widgets.object("large/w-07"), widgets.path("large") + "?limit=3"} {
		at, want := s.local.get(t, path), cloud.get(t, path)
		if strings.Contains(path, "limit") { // the two may be at different revisions
			sameItems(t, path, parseList(t, at.body), parseList(t, want.body))
		} else if !bytes.Equal(at.body, want.body) {
			t.Errorf("%s differs", path)
		}
	}
	stream := s.local.openWatch(t, widgets.path("large")+"?watch=1&resourceVersion=0")
	for range 30 {
		if _, o := stream.next(); o.Key == "" {
			t.Error("an event without an object")
		}
	}
	changed := json.RawMessage(widget("large", "w-00", color[:len(color)/2]))
	if out, err := cloud.do(t.Context(), http.MethodDelete, widgets.object("large/w-00"), nil); err != nil || out.status != http.StatusOK {
		t.Fatal(out.status, err)
	}
	created := cloud.create(t, widgets, "large", string(changed))
	stream.expect("DELETED", created.Key, "")
	stream.expect("ADDED", created.Key, created.UID)
}
