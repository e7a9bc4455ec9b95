//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// kube is the cluster that the tests share; nil until the first one needs it. TestMain stops it.
var kube struct {
	*cluster.Cluster
	dir string
}

// sharedCluster starts the cluster on first use.
func sharedCluster(t testing.TB) *cluster.Cluster {
	t.Helper()
	if kube.Cluster != nil {
		return kube.Cluster
	}
	var err error
	if kube.dir, err = os.MkdirTemp("", "tombolo-e2e-cluster-"); err != nil {
		t.Fatal(err)
	}
	if kube.Cluster, err = cluster.Start(t.Context(), cluster.Config{Dir: kube.dir}); err != nil {
		t.Fatal(err)
	}
	return kube.Cluster
}

func stopCluster() {
	if kube.Cluster != nil {
		if err := kube.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		_ = os.RemoveAll(kube.dir)
	}
}

// kubeAPI is the cluster's API as the admin.
func kubeAPI(t testing.TB, c *cluster.Cluster) *api {
	t.Helper()
	client, err := c.AdminClient()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return &api{name: "cloud", base: c.URL, client: client}
}

// newKubeSite is a site on the shared cluster.
func newKubeSite(t *testing.T, scopes string) (*site, *cluster.Cluster) {
	t.Helper()
	c := sharedCluster(t)
	h := newHub(t, hubConfig{kubeconfig: c.Kubeconfig, scopes: scopes})
	h.start()
	return joinSite(t, h, kubeAPI(t, c)), c
}

// inNamespace are scopes of a namespace that one test has for itself.
func inNamespace(t *testing.T, cloud *api, namespace string) string {
	t.Helper()
	cloud.create(t, namespaces, "", fmt.Sprintf(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q}}`, namespace))
	return fmt.Sprintf(`scopes:
- name: tests
  edges: ["edge-*"]
  rules:
  - {resource: configmaps, namespaces: [%s]}
  - {resource: secrets, namespaces: [%s]}
`, namespace, namespace)
}

// kubeConfigMaps is a site whose edge holds the ConfigMaps of a namespace of its own.
func kubeConfigMaps(t *testing.T, namespace string) (*site, *cluster.Cluster) {
	t.Helper()
	cloud := kubeAPI(t, sharedCluster(t))
	return newKubeSite(t, inNamespace(t, cloud, namespace))
}

// seven is the scope of one of fifty nodes.
const seven = `scopes:
- name: node 7
  edges: ["edge-1"]
  nodes: ["node-07"]
  rules:
  - {resource: pods, boundToNode: spec.nodeName}
  - {resource: nodes, boundToNode: metadata.name}
  - {resource: configmaps, namespaces: [fifty]}
  - {resource: secrets, namespaces: [fifty]}
  - {group: ex.io, resource: widgets, namespaces: [fifty]}
`

// fillFifty creates fifty nodes with 2,000 pods, and objects of other kinds in and out of scope.
func fillFifty(t *testing.T, cloud *api) {
	t.Helper()
	for _, namespace := range []string{"fifty", "sixty"} {
		cloud.create(t, namespaces, "", fmt.Sprintf(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q}}`, namespace))
	}
	define(t, sharedCluster(t), widgetDefinition, "widgets.ex.io")
	concurrently(50, func(i int) { cloud.create(t, nodes, "", node(fmt.Sprintf("node-%02d", i))) })
	concurrently(2000, func(i int) {
		cloud.create(t, pods, "fifty", pod("fifty", fmt.Sprintf("pod-%04d", i), fmt.Sprintf("node-%02d", i%50), []string{"web", "db"}[i/50%2]))
	})
	concurrently(40, func(i int) {
		namespace := []string{"fifty", "sixty"}[i%2]
		name := fmt.Sprintf("o-%02d", i)
		cloud.create(t, configMaps, namespace, configMap(namespace, name, "a", `<&> "quoted" ünïcode`))
		cloud.create(t, secrets, namespace, secret(namespace, name, name))
		cloud.create(t, widgets, namespace, widget(namespace, name, []string{"red", "blue"}[i/2%2]))
	})
}

// TestEdgeOfOneNodeGivesWhatTheCloudGives compares an edge's answers with the cloud's, byte by byte.
func TestEdgeOfOneNodeGivesWhatTheCloudGives(t *testing.T) {
	c := sharedCluster(t)
	fillFifty(t, kubeAPI(t, c))
	s, _ := newKubeSite(t, seven)
	views := map[resource]string{ // what the cloud has to be asked for to give what the edge holds
		pods:       pods.path("") + "?fieldSelector=spec.nodeName%3Dnode-07",
		nodes:      nodes.path("") + "?fieldSelector=metadata.name%3Dnode-07",
		configMaps: configMaps.path("fifty"),
		secrets:    secrets.path("fifty"),
		widgets:    widgets.path("fifty"),
	}
	for r, view := range views {
		t.Run("list and get of "+r.name, func(t *testing.T) {
			awaitSameItems(t, s.local, r.path(""), s.cloud, view)
			keys := s.local.list(t, r.path("")).keys(t)
			if r == pods && len(keys) != 40 {
				t.Errorf("%d pods", len(keys))
			}
			for _, key := range keys {
				if got, want := s.local.get(t, r.object(key)).body, s.cloud.get(t, r.object(key)).body; !bytes.Equal(got, want) {
					t.Fatalf("%s\n  got  %s\n  want %s", key, got, want)
				}
			}
		})
	}
	t.Run("kubectl", func(t *testing.T) { compareKubectl(t, s, c) })
	t.Run("kubectl get -w", func(t *testing.T) { compareKubectlWatch(t, s, c) })
}

// TestReadyEdgeHasItsWholeScope starts an edge for the first time: once it says that it is ready, every
// resource of its scope has to be there.
func TestReadyEdgeHasItsWholeScope(t *testing.T) {
	s, c := newKubeSite(t, seven)
	for range 5 {
		h := newHub(t, hubConfig{name: "cloudhub-cold", kubeconfig: c.Kubeconfig, scopes: seven})
		h.start()
		e := newEdge(t, "edge-1", nil, h.sync)
		e.start()
		fresh := newAPI(t, "fresh", e.url)
		for _, r := range []resource{pods, nodes, configMaps, secrets} {
			sameItems(t, r.name, fresh.list(t, r.path("")), s.local.list(t, r.path("")))
		}
		e.kill()
		h.kill()
	}
}

// compareKubectl runs commands against both, that of the cloud narrowed to the edge's scope.
func compareKubectl(t *testing.T, s *site, c *cluster.Cluster) {
	onNode := "--field-selector=spec.nodeName=node-07"
	for _, cmd := range []struct{ args, narrowed string }{
		{"get pods -A -o yaml", onNode},
		{"get pods -n fifty -o json", onNode},
		{"get pods -n fifty -o name", onNode},
		{"get pods -n fifty -o name -l app=web", onNode},
		{"get pods -A -o yaml -l app!=web --chunk-size=7", onNode},
		{"get pods -n fifty --no-headers -o custom-columns=N:.metadata.name,V:.metadata.resourceVersion", onNode},
		{"get pods -n fifty --field-selector spec.nodeName=node-07 -o yaml", ""},
		{"get pods -n fifty --field-selector spec.nodeName=node-08 -o name", "-l app=none"},
		{"get pod pod-0007 -n fifty -o yaml", ""},
		{"get node node-07 -o yaml", ""},
		{"get configmaps -n fifty -o yaml", ""},
		{"get secret o-00 -n fifty -o json", ""},
		{"get widgets -n fifty -o yaml", ""},
		{"get widgets -n fifty -o name --field-selector spec.color=red", ""},
		{"get widget o-02 -n fifty -o yaml", ""},
		{"api-resources --no-headers -o name", ""},
		{"api-versions", ""},
		{"get --raw /api/v1/namespaces/fifty/configmaps/o-00", ""},
		{"version -o json", ""},
	} {
		t.Run(cmd.args, func(t *testing.T) {
			args := strings.Fields(cmd.args)
			want, wantErr := tryKubectl(t, c, "", append(args, strings.Fields(cmd.narrowed)...)...)
			got, gotErr := tryKubectl(t, c, "", append([]string{"--server", s.local.base}, args...)...)
			if got != want || (gotErr == nil) != (wantErr == nil) {
				t.Errorf("got (%v)\n%.2000s\nwant (%v)\n%.2000s", gotErr, got, wantErr, want)
			}
		})
	}
}

// compareKubectlWatch follows the same changes with kubectl at both.
func compareKubectlWatch(t *testing.T, s *site, c *cluster.Cluster) {
	args := []string{"get", "pods", "-n", "fifty", "--watch-only", "--output-watch-events", "-o", "json"}
	atCloud := startKubectl(t, c, append(args, "--field-selector=spec.nodeName=node-07")...)
	atEdge := startKubectl(t, c, append([]string{"--server", s.local.base}, args...)...)
	// kubectl lists first; what it is shown afterwards has to be the same from the mark on.
	marks := 0
	awaitMark := func(name string) {
		eventually(t, func() error {
			marks++
			runKubectl(t, c, "", "annotate", "pod", name, "-n", "fifty", "--overwrite", fmt.Sprintf("mark=%d", marks))
			for _, k := range []*kubectlWatch{atCloud, atEdge} {
				if !strings.Contains(k.output(), `"`+name+`"`) {
					return fmt.Errorf("%s is not shown yet; kubectl printed …%s", name, k.tail())
				}
			}
			return nil
		})
	}
	awaitMark("pod-0057")
	s.cloud.create(t, pods, "fifty", pod("fifty", "new-07", "node-07", "web"))
	s.cloud.create(t, pods, "fifty", pod("fifty", "new-08", "node-08", "web"))
	runKubectl(t, c, "", "label", "pod", "new-07", "-n", "fifty", "app=db", "--overwrite")
	s.cloud.remove(t, pods, "fifty/new-07")
	s.cloud.remove(t, pods, "fifty/pod-0107")
	runKubectl(t, c, "", "annotate", "pod", "pod-0157", "-n", "fifty", "end=yes")
	eventually(t, func() error {
		cloud, edge := atCloud.from(`"pod-0057"`), atEdge.from(`"pod-0057"`)
		if !strings.Contains(cloud, `"end":"yes"`) || cloud != edge {
			return fmt.Errorf("%s", firstDifference(edge, cloud))
		}
		return nil
	})
}

func TestDeletesWhileHubWasCutFromTheCloudArrive(t *testing.T) {
	c := sharedCluster(t)
	cloud := kubeAPI(t, c)
	scopes := inNamespace(t, cloud, "cut-hub")
	toCloud := newLink(t, strings.TrimPrefix(c.URL, "https://"))
	h := newHub(t, hubConfig{kubeconfig: viaLink(t, c, toCloud.Addr), scopes: scopes})
	h.start()
	s := joinSite(t, h, cloud)
	var created []guarantee.Object
	for i := range 4 {
		created = append(created, cloud.create(t, configMaps, "cut-hub", configMap("cut-hub", fmt.Sprintf("c-%d", i), "a", "x")))
	}
	awaitSameItems(t, s.local, configMaps.path(""), cloud, configMaps.path("cut-hub"))
	w := s.local.openWatch(t, watchFrom(configMaps, created[3].RV))
	for _, fail := range []func(){toCloud.Cut, toCloud.BlackHole} {
		fail()
		gone := created[0]
		created = created[1:]
		cloud.remove(t, configMaps, gone.Key)
		toCloud.Reset()
		w.expect(guarantee.Deleted, gone.Key, gone.UID)
		awaitSameItems(t, s.local, configMaps.path(""), cloud, configMaps.path("cut-hub"))
	}
}

// viaLink is a kubeconfig that reaches the cluster over a link.
func viaLink(t testing.TB, c *cluster.Cluster, addr string) string {
	t.Helper()
	text, err := os.ReadFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/kubeconfig"
	if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte(c.URL), []byte("https://"+addr)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestStartingHubDeletesNothing(t *testing.T) {
	s, c := kubeConfigMaps(t, "starting-hub")
	for i := range 20 {
		s.cloud.create(t, configMaps, "starting-hub", configMap("starting-hub", fmt.Sprintf("c-%02d", i), "a", "x"))
	}
	awaitSameItems(t, s.local, configMaps.path(""), s.cloud, configMaps.path("starting-hub"))
	before := s.local.list(t, configMaps.path(""))
	w := s.local.openWatch(t, watchFrom(configMaps, revisionOf(t, before)))

	s.hub.kill()
	if err := c.StopAPIServer(); err != nil {
		t.Fatal(err)
	}
	s.hub.launch() // it can't list anything
	eventually(t, func() error {
		return dialTCP(s.hub.sync)
	})
	sessions := s.link.Opened()
	eventually(t, func() error { // the edge finds it several times
		if n := s.link.Opened(); n < sessions+2 {
			return fmt.Errorf("%d connections", n)
		}
		return nil
	})
	sameItems(t, "with a hub that knows nothing", s.local.list(t, configMaps.path("")), before)

	if err := c.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.hub.awaitReady()
	s.edge.awaitContact(true)
	created := s.cloud.create(t, configMaps, "starting-hub", configMap("starting-hub", "new", "a", "x"))
	w.expect(guarantee.Added, created.Key, created.UID) // and nothing before it
	awaitSameItems(t, s.local, configMaps.path(""), s.cloud, configMaps.path("starting-hub"))
}

// TestFailoverNeverShowsAnOlderObject moves an edge from hub to hub while objects change. What one hub
// has sent another sends again; none of it may be applied or shown twice.
func TestFailoverNeverShowsAnOlderObject(t *testing.T) {
	c := sharedCluster(t)
	cloud := kubeAPI(t, c)
	scopes := inNamespace(t, cloud, "failover")
	var hubs []*hub
	for i := range 2 {
		h := newHub(t, hubConfig{name: fmt.Sprintf("cloudhub-%d", i), kubeconfig: c.Kubeconfig, scopes: scopes})
		h.start()
		hubs = append(hubs, h)
	}
	s := &site{t: t, history: guarantee.NewHistory(), cloud: cloud, hub: hubs[0]}
	s.edge = newEdge(t, "edge-1", nil, hubs[0].sync, hubs[1].sync)
	s.edge.start()
	s.local = newAPI(t, "edge", s.edge.url)
	s.sources(configMaps)
	only := guarantee.InNamespace("failover")
	for _, watchList := range []bool{false, true} {
		s.watch(s.local, configMaps, guarantee.ReaderConfig{Match: only, Coalesced: true, NeverExpires: true},
			func(w *guarantee.Watcher) { w.WatchList = watchList })
	}
	k := loadKinds[0]
	k.namespace = "failover"
	body := k.body
	k.body = func(name string, rng *randSource) string {
		return strings.Replace(body(name, rng), `"namespace":"default"`, `"namespace":"failover"`, 1)
	}
	l := startLoad(t, s.history, cloud, seed(t), 150, k)
	for round := range 8 {
		l.awaitCount(40)
		h := hubs[round%2]
		h.kill()
		s.edge.awaitContact(true)
		l.awaitCount(20)
		h.start()
	}
	l.stop()
	s.catchUp()
	awaitSameItems(t, s.local, configMaps.path(""), cloud, configMaps.path("failover"))
	s.judge()
}

// TestHubRestartedWithEmptyMemory has the hub forget all it knew, twice.
func TestHubRestartedWithEmptyMemory(t *testing.T) {
	s, c := kubeConfigMaps(t, "empty-hub")
	for i := range 30 {
		s.cloud.create(t, configMaps, "empty-hub", configMap("empty-hub", fmt.Sprintf("c-%02d", i), "a", "x"))
	}
	awaitSameItems(t, s.local, configMaps.path(""), s.cloud, configMaps.path("empty-hub"))
	w := s.local.openWatch(t, watchFrom(configMaps, revisionOf(t, s.local.list(t, configMaps.path("")))))
	for i := range 2 {
		s.hub.kill()
		missed := s.cloud.create(t, configMaps, "empty-hub", configMap("empty-hub", fmt.Sprintf("missed-%d", i), "a", "x"))
		if i == 1 { // nor does the cloud know any more
			if err := c.Compact(t.Context(), int64(missed.RV)); err != nil {
				t.Fatal(err)
			}
			if err := c.RestartAPIServer(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.hub.start()
		w.expect(guarantee.Added, missed.Key, missed.UID)
		created := s.cloud.create(t, configMaps, "empty-hub", configMap("empty-hub", fmt.Sprintf("new-%d", i), "a", "x"))
		w.expect(guarantee.Added, created.Key, created.UID)
		awaitSameItems(t, s.local, configMaps.path(""), s.cloud, configMaps.path("empty-hub"))
	}
}

// TestRealCloudUnderWrites judges everything an edge shows of a real cluster.
func TestRealCloudUnderWrites(t *testing.T) {
	cloud := kubeAPI(t, sharedCluster(t))
	s, _ := newKubeSite(t, strings.ReplaceAll(inNamespace(t, cloud, "writes"), "\n  rules:", "\n  nodes: [node-1]\n  rules:\n  - {resource: pods, boundToNode: spec.nodeName}"))
	s.sources(configMaps, pods)
	mine := guarantee.InNamespace("writes")
	for _, coalesced := range []bool{true, false} {
		cfg := guarantee.ReaderConfig{Coalesced: coalesced, NeverExpires: true}
		s.watch(s.cloud, pods, guarantee.ReaderConfig{Name: fmt.Sprintf("client of the cloud %t", coalesced), Match: inScope(pods)},
			func(w *guarantee.Watcher) { w.Query = map[string][]string{"fieldSelector": {"spec.nodeName=node-1"}} })
		s.watch(s.local, pods, cfg, func(w *guarantee.Watcher) { w.WatchList = coalesced })
		cfg.Match = mine
		s.watch(s.local, configMaps, cfg, func(w *guarantee.Watcher) { w.WatchList = !coalesced })
	}
	kinds := []kind{
		{configMaps, "writes", func(name string, rng *randSource) string {
			return configMap("writes", name, "a", fmt.Sprint(rng.Uint64()))
		}},
		{pods, "writes", func(name string, rng *randSource) string {
			return pod("writes", name, fmt.Sprintf("node-%d", 1+rng.IntN(2)), "load")
		}},
	}
	l := startLoad(t, s.history, s.cloud, seed(t), 100, kinds...)
	l.awaitCount(800)
	l.stop()
	s.catchUp()
	awaitSameItems(t, s.local, configMaps.path(""), s.cloud, configMaps.path("writes"))
	awaitSameItems(t, s.local, pods.path(""), s.cloud, cloudPath(pods))
	s.judge()
}

// dialTCP tells whether something listens.
func dialTCP(addr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := (&dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return conn.Close()
}
