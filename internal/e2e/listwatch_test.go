//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// Faults of list and watch that users met in systems of this kind, each as a test through an edge.

// fill creates so many ConfigMaps in the cloud and waits until the edge has them.
func (s *site) fill(count int, size int) {
	s.t.Helper()
	text := strings.Repeat("x", size)
	concurrently(count, func(i int) {
		s.cloud.create(s.t, configMaps, "default", configMap("default", fmt.Sprintf("fill-%04d", i), []string{"a", "b"}[i%2], text))
	})
	s.awaitCount(configMaps, count)
}

// concurrently calls work for 0 … n-1, eight at a time.
func concurrently(n int, work func(i int)) {
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() {
			for i := w; i < n; i += 8 {
				work(i)
			}
		})
	}
	workers.Wait()
}

// awaitCount waits until the edge lists so many.
func (s *site) awaitCount(r resource, count int) {
	s.t.Helper()
	eventually(s.t, func() error {
		l, err := s.local.tryList(s.t, r.path(""))
		if err == nil && len(l.Items) != count {
			err = fmt.Errorf("%d %s at the edge, want %d", len(l.Items), r.name, count)
		}
		return err
	})
}

// awaitLevel waits until the edge is at the cloud's revision with a resource.
func (s *site) awaitLevel(r resource) uint64 {
	s.t.Helper()
	var at uint64
	eventually(s.t, func() error {
		want := revisionOf(s.t, s.cloud.list(s.t, r.path("")))
		l, err := s.local.tryList(s.t, r.path(""))
		if err != nil {
			return err
		}
		if at = revisionOf(s.t, l); at != want {
			return fmt.Errorf("the edge is at %d, the cloud at %d", at, want)
		}
		return nil
	})
	return at
}

func watchFrom(r resource, rv uint64) string {
	return fmt.Sprintf("%s?watch=true&allowWatchBookmarks=true&resourceVersion=%d", r.path(""), rv)
}

func TestWriteRightAfterListArrivesOnWatch(t *testing.T) {
	s := newSite(t, hubConfig{})
	exactlyNext := 0
	for i := range 30 {
		listed := s.awaitLevel(configMaps)
		key := fmt.Sprintf("default/next-%02d", i)
		created := s.cloud.create(t, configMaps, "default", configMap("default", key[len("default/"):], "a", "x"))
		if created.RV == listed+1 {
			exactlyNext++
		}
		w := s.local.openWatch(t, watchFrom(configMaps, listed))
		if o := w.expect(guarantee.Added, key, created.UID); o.Body != created.Body {
			t.Fatalf("got %s, want %s", o.Body, created.Body)
		}
		w.close()
	}
	if exactlyNext < 20 {
		t.Errorf("only %d of the writes were right behind the list", exactlyNext)
	}
}

func TestWatchFromZeroDeliversAllInitialObjects(t *testing.T) {
	const count = 500
	s := newSite(t, hubConfig{})
	s.fill(count, 8<<10)
	for _, path := range []string{
		configMaps.path("") + "?watch=true&resourceVersion=0",
		configMaps.path("") + "?watch=true&allowWatchBookmarks=true&resourceVersion=0",
		configMaps.path("") + "?watch=true",
	} {
		t.Run(path, func(t *testing.T) {
			slow := s.local.openWatch(t, path) // nothing of it is read until the others are done
			fast := s.local.openWatch(t, path)
			for _, w := range []*stream{fast, slow} {
				for i := range count {
					w.expect(guarantee.Added, fmt.Sprintf("default/fill-%04d", i), "")
				}
			}
		})
	}
}

// everyPod lets the edge hold all pods, so that selectors have something to do.
const everyPod = `scopes:
- name: tests
  edges: ["edge-*"]
  rules:
  - resource: pods
  - resource: configmaps
`

func TestFieldSelectorOnNodeNameMatchesExactly(t *testing.T) {
	s := newSite(t, hubConfig{scopes: everyPod})
	path := pods.path("") + "?fieldSelector=" + url.QueryEscape("spec.nodeName=node-1")
	from := s.awaitLevel(pods)
	onNode := s.local.openWatch(t, path+fmt.Sprintf("&watch=true&resourceVersion=%d", from))
	elsewhere := s.local.openWatch(t, pods.path("")+"?fieldSelector="+url.QueryEscape("spec.nodeName!=node-1")+fmt.Sprintf("&watch=true&resourceVersion=%d", from))
	for i := range 30 {
		s.cloud.create(t, pods, "default", pod("default", fmt.Sprintf("p-%02d", i), fmt.Sprintf("node-%d", i%3), "x"))
	}
	s.awaitCount(pods, 30)
	for i := range 30 {
		if i%3 == 1 {
			onNode.expect(guarantee.Added, fmt.Sprintf("default/p-%02d", i), "")
		} else {
			elsewhere.expect(guarantee.Added, fmt.Sprintf("default/p-%02d", i), "")
		}
	}
	got := s.local.list(t, path)
	sameItems(t, "pods of node-1", got, s.cloud.list(t, path))
	if len(got.Items) != 10 {
		t.Errorf("%d pods on the node: %v", len(got.Items), got.keys(t))
	}
}

func TestDifferentSelectorsDoNotShareResults(t *testing.T) {
	s := newSite(t, hubConfig{})
	s.fill(60, 10)
	paths := []string{
		configMaps.path(""), configMaps.path("") + "?labelSelector=team%3Da", configMaps.path("") + "?labelSelector=team%3Db",
		configMaps.path("") + "?labelSelector=team%21%3Da", configMaps.path("") + "?fieldSelector=metadata.name%3Dfill-0007",
		configMaps.path("default") + "?labelSelector=team+in+%28a%29", configMaps.path("other"),
	}
	concurrently(len(paths)*20, func(i int) {
		path := paths[i%len(paths)]
		got, err := s.local.do(t.Context(), http.MethodGet, path, nil)
		if err != nil {
			t.Error(err)
			return
		}
		sameItems(t, path, parseList(t, got.body), s.cloud.list(t, path))
	})
	for _, team := range []string{"a", "b"} {
		s.watch(s.local, configMaps, guarantee.ReaderConfig{Name: "team " + team, Match: guarantee.All(inScope(configMaps), guarantee.HasLabel("team", team))},
			func(w *guarantee.Watcher) { w.Query = url.Values{"labelSelector": {"team=" + team}} })
	}
	s.sources(configMaps)
	l := startLoad(t, s.history, s.cloud, seed(t), 200, loadKinds[0])
	l.awaitCount(200)
	l.stop()
	s.settle(configMaps)
}

func TestPagedListLeavesWholeStateOffline(t *testing.T) {
	const count = 1000
	s := newSite(t, hubConfig{})
	s.fill(count, 100)
	pages := 0
	var paged []string
	for token := ""; ; pages++ {
		l := s.local.list(t, configMaps.path("")+"?limit=100&continue="+url.QueryEscape(token))
		paged = append(paged, l.keys(t)...)
		if token = l.Metadata.Continue; token == "" {
			break
		}
	}
	whole := s.cloud.list(t, configMaps.path("default"))
	if want := whole.keys(t); !slices.Equal(paged, want) || pages != count/100-1 {
		t.Errorf("%d objects over %d pages, want %d over %d", len(paged), pages+1, len(want), count/100)
	}
	s.cut()
	sameItems(t, "offline", s.local.list(t, configMaps.path("")), whole)
}

func TestStuckWatcherBlocksNobody(t *testing.T) {
	s := newSite(t, hubConfig{})
	s.sources(configMaps)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.local.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", watchFrom(configMaps, s.awaitLevel(configMaps))); err != nil {
		t.Fatal(err)
	}
	lively := s.watch(s.local, configMaps, guarantee.ReaderConfig{Coalesced: true, NeverExpires: true}, nil)
	await(t, lively.CatchUp)
	big := kind{configMaps, "default", loadKinds[0].body}
	body := big.body
	large := strings.Repeat("y", 60<<10)
	big.body = func(name string, rng *rand.Rand) string {
		return strings.Replace(body(name, rng), `"text":`, `"large":"`+large+`","text":`, 1)
	}
	l := startLoad(t, s.history, s.cloud, seed(t), 300, big)
	l.awaitCount(600) // 36 MB: more than any buffer on the way
	l.stop()
	s.settle(configMaps)
	other := s.local.list(t, pods.path(""))
	if other.Kind != "PodList" {
		t.Errorf("another resource: %q", other.Kind)
	}
}

func TestEqualWatchesAreIndependent(t *testing.T) {
	s := newSite(t, hubConfig{})
	path := watchFrom(configMaps, s.awaitLevel(configMaps))
	first, second := s.local.openWatch(t, path), s.local.openWatch(t, path)
	one := s.cloud.create(t, configMaps, "default", configMap("default", "one", "a", "x"))
	first.expect(guarantee.Added, one.Key, one.UID)
	second.expect(guarantee.Added, one.Key, one.UID)
	first.close()
	two := s.cloud.create(t, configMaps, "default", configMap("default", "two", "a", "x"))
	second.expect(guarantee.Added, two.Key, two.UID)
}

func TestClusterScopedResourcesAreWatchable(t *testing.T) {
	volumes := resource{"persistentvolumes", "/api/v1", "persistentvolumes"}
	s := newSite(t, hubConfig{scopes: `scopes:
- name: tests
  edges: ["edge-*"]
  rules:
  - resource: nodes
  - resource: namespaces
  - resource: persistentvolumes
  - {group: apiextensions.k8s.io, resource: customresourcedefinitions}
`})
	for r, body := range map[resource]string{
		nodes:      node("node-9"),
		namespaces: `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"new"}}`,
		volumes: `{"kind":"PersistentVolume","apiVersion":"v1","metadata":{"name":"pv"},"spec":{"capacity":{"storage":"1Gi"},` +
			`"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}}`,
		definitions: widgetDefinition,
	} {
		t.Run(r.name, func(t *testing.T) {
			w := s.local.openWatch(t, watchFrom(r, revisionOf(t, s.local.list(t, r.path("")))))
			created := s.cloud.create(t, r, "", body)
			w.expect(guarantee.Added, created.Key, created.UID)
			if got := s.local.get(t, r.object(created.Key)); !bytes.Contains(got.body, []byte(created.UID)) {
				t.Errorf("got %s", got.body)
			}
		})
	}
}
