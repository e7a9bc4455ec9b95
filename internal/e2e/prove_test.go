//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// proofScopes let an edge hold the pods of a node, and the ConfigMaps of a namespace.
func proofScopes(t *testing.T, cloud *api, namespace string) string {
	t.Helper()
	inNamespace(t, cloud, namespace)
	return fmt.Sprintf(`scopes:
- name: tests
  edges: ["edge-*"]
  nodes: [proof-node]
  rules:
  - {resource: configmaps, namespaces: [%s]}
  - {resource: pods, boundToNode: spec.nodeName}
`, namespace)
}

// keysOf lists a path, with a proof when it is the edge that lists.
func keysOf(t *testing.T, a *api, path string) ([]string, time.Duration) {
	t.Helper()
	began := time.Now()
	got := a.get(t, path)
	took := time.Since(began)
	if w := got.header.Get("Warning"); w != "" {
		t.Errorf("%s: %s", path, w)
	}
	return parseList(t, got.body).keys(t), took
}

// percentiles tells the half and the hundredth of durations.
func percentiles(all []time.Duration) string {
	slices.Sort(all)
	return fmt.Sprintf("p50 %s, p99 %s", all[len(all)/2].Round(10*time.Microsecond), all[len(all)*99/100].Round(10*time.Microsecond))
}

// TestReadsSeeWhatIsInTheCloud: what was written directly to the cloud is in the next read at the edge, at once, a thousand
// times over, and no read has a Warning.
func TestReadsSeeWhatIsInTheCloud(t *testing.T) {
	cloud := kubeAPI(t, sharedCluster(t))
	s, _ := newKubeSite(t, proofScopes(t, cloud, "proofs"))
	writes := []func(i int) (path string, want bool){
		func(i int) (string, bool) { // created
			cloud.create(t, configMaps, "proofs", configMap("proofs", fmt.Sprint("m-", i/5), "a", "x"))
			return configMaps.path("proofs"), true
		},
		func(i int) (string, bool) { // into a selector
			relabel(t, cloud, configMaps.object(fmt.Sprint("proofs/m-", i/5)), "b")
			return configMaps.path("") + "?labelSelector=team%3Db", true
		},
		func(i int) (string, bool) { // out of it
			relabel(t, cloud, configMaps.object(fmt.Sprint("proofs/m-", i/5)), "a")
			return configMaps.path("proofs") + "?labelSelector=team%3Db", false
		},
		func(i int) (string, bool) { // deleted
			cloud.remove(t, configMaps, fmt.Sprint("proofs/m-", i/5))
			return configMaps.path("proofs") + "?fieldSelector=" + url.QueryEscape(fmt.Sprint("metadata.name=m-", i/5)), false
		},
		func(i int) (string, bool) { // of a node
			cloud.create(t, pods, "proofs", pod("proofs", fmt.Sprint("m-", i/5), "proof-node", "web"))
			return pods.path(""), true
		},
	}
	var edge, direct []time.Duration
	for i := range 1000 {
		path, want := writes[i%len(writes)](i)
		keys, took := keysOf(t, s.local, path)
		edge = append(edge, took)
		if name := fmt.Sprint("proofs/m-", i/5); slices.Contains(keys, name) != want {
			t.Fatalf("round %d: %s of the edge has %v, %s there: want %t", i, path, keys, name, !want)
		}
		_, took = keysOf(t, cloud, path)
		direct = append(direct, took)
	}
	t.Logf("lists at the edge: %s; of the cloud: %s", percentiles(edge), percentiles(direct))
	edge, direct = nil, nil
	for i := range 300 {
		body := relabel(t, cloud, pods.object("proofs/m-7"), fmt.Sprint("r", i))
		began := time.Now()
		got := s.local.get(t, pods.object("proofs/m-7"))
		edge = append(edge, time.Since(began))
		if string(got.body) != string(body) {
			t.Fatalf("round %d: the edge has %s, the cloud %s", i, got.body, body)
		}
		began = time.Now()
		cloud.get(t, pods.object("proofs/m-7"))
		direct = append(direct, time.Since(began))
	}
	t.Logf("objects at the edge: %s; of the cloud: %s", percentiles(edge), percentiles(direct))
	logProofs(t, s)
}

// logProofs tells by which methods the hub has proved, and that nothing failed.
func logProofs(t *testing.T, s *site) {
	t.Helper()
	for _, name := range []string{"tombolo_edge_proof_seconds_count", "tombolo_hub_question_seconds_count", "tombolo_source_proof_seconds_count"} {
		base := s.hub.http
		if strings.HasPrefix(name, "tombolo_edge") {
			base = s.edge.http
		}
		t.Logf("%s %g", name, mustMetric(t, base, name))
	}
}

// relabel gives an object another team, and returns what it is then.
func relabel(t *testing.T, a *api, path, team string) []byte {
	t.Helper()
	got, err := a.patch(t.Context(), path, fmt.Appendf(nil, `{"metadata":{"labels":{"team":%q}}}`, team))
	if err != nil || got.status != http.StatusOK {
		t.Fatalf("PATCH %s: %d %s %v", path, got.status, got.body, err)
	}
	return got.body
}

// TestRevisionOfAnotherResource: a revision from a busy resource is reached on a quiet one within the time that a GET or
// LIST waits for it.
func TestRevisionOfAnotherResource(t *testing.T) {
	cloud := kubeAPI(t, sharedCluster(t))
	s, _ := newKubeSite(t, proofScopes(t, cloud, "elsewhere"))
	var took []time.Duration
	for i := range 8 {
		rev := cloud.create(t, secrets, "default", secret("default", fmt.Sprint("busy-", i), "x")).RV
		for _, query := range []string{"&resourceVersionMatch=NotOlderThan", "&resourceVersionMatch=Exact"} {
			began := time.Now()
			got := s.local.get(t, fmt.Sprintf("%s?resourceVersion=%d%s", configMaps.path("elsewhere"), rev, query))
			took = append(took, time.Since(began))
			if at, _ := strconv.ParseUint(parseList(t, got.body).Metadata.ResourceVersion, 10, 64); at < rev {
				t.Errorf("at %d, want %d", at, rev)
			}
		}
		cloud.remove(t, secrets, fmt.Sprint("default/busy-", i))
	}
	t.Logf("until another resource's revision was reached: %s", percentiles(took))
}

// TestTokensGoBothWays: a list can be begun at the cloud and go on at the edge, and the other way round.
func TestTokensGoBothWays(t *testing.T) {
	cloud := kubeAPI(t, sharedCluster(t))
	s, _ := newKubeSite(t, proofScopes(t, cloud, "tokens"))
	for i := range 5 {
		cloud.create(t, configMaps, "tokens", configMap("tokens", fmt.Sprint("m-", i), "a", "x"))
	}
	for _, way := range [][2]*api{{cloud, s.local}, {s.local, cloud}} {
		var all []string
		path := configMaps.path("tokens") + "?limit=2"
		for page, token := 0, ""; page == 0 || token != ""; page++ {
			l := parseList(t, way[page%2].get(t, path+"&continue="+url.QueryEscape(token)).body)
			all, token = append(all, l.keys(t)...), l.Metadata.Continue
		}
		if len(all) != 5 || !slices.IsSorted(all) {
			t.Errorf("from %s to %s: %v", way[0].name, way[1].name, all)
		}
	}
}

// TestWarningsOnlyWithoutProof: an answer says that it may be behind when nobody could say that it is not.
func TestWarningsOnlyWithoutProof(t *testing.T) {
	cloud := kubeAPI(t, sharedCluster(t))
	s, _ := newKubeSite(t, proofScopes(t, cloud, "warnings"))
	path := configMaps.path("warnings")
	warned := func(a *api, query string) bool { return a.get(t, path+query).header.Get("Warning") != "" }
	if warned(s.local, "") || warned(s.local, "?resourceVersion=0") {
		t.Error("a Warning that has no reason")
	}
	s.cut()
	if !warned(s.local, "") || !warned(s.local, "?resourceVersion=0") {
		t.Error("no Warning without a link")
	}
	s.heal()
	eventually(t, func() error {
		if warned(s.local, "") {
			return fmt.Errorf("the Warning stays")
		}
		return nil
	})
	s.edge.kill() // the other one has its name
	local := joinSite(t, s.hub, cloud, "--consistent-reads", "local")
	if !warned(local.local, "") || warned(local.local, "?resourceVersion=0") {
		t.Error("in local mode there is no Warning, or one where none is asked for")
	}
}

// TestHundredReadersShareProofs: those who wait at the same time cost a few questions.
func TestHundredReadersShareProofs(t *testing.T) {
	cloud := kubeAPI(t, sharedCluster(t))
	s, _ := newKubeSite(t, proofScopes(t, cloud, "hundred"))
	before := mustMetric(t, s.edge.http, "tombolo_edge_proof_seconds_count")
	const rounds = 10
	for i := range rounds {
		cloud.create(t, configMaps, "hundred", configMap("hundred", fmt.Sprint("m-", i), "a", "x"))
		var readers sync.WaitGroup
		start := make(chan struct{})
		for range 100 {
			readers.Go(func() {
				<-start
				got, err := s.local.do(t.Context(), http.MethodGet, configMaps.path("hundred"), nil)
				var l listed
				if err == nil {
					err = json.Unmarshal(got.body, &l)
				}
				if err != nil || len(l.Items) != i+1 {
					t.Errorf("%d objects, want %d: %v", len(l.Items), i+1, err)
				}
			})
		}
		close(start)
		readers.Wait()
	}
	asked := mustMetric(t, s.edge.http, "tombolo_edge_proof_seconds_count") - before
	t.Logf("%g questions for %d reads", asked, 100*rounds)
	if asked > 25*rounds {
		t.Errorf("%g questions", asked)
	}
}

// TestOwnWritesAreRead: after a write through the edge has returned, every read there sees it, also one that takes any
// state.
func TestOwnWritesAreRead(t *testing.T) {
	cloud := kubeAPI(t, sharedCluster(t))
	s, _ := newKubeSite(t, proofScopes(t, cloud, "own"))
	admin := &api{name: "edge", base: s.local.base, client: &http.Client{Transport: asAdmin{}}}
	t.Cleanup(plainTransport.CloseIdleConnections)
	read := func(key string) (string, int) {
		got, err := s.local.do(t.Context(), http.MethodGet, configMaps.object(key)+"?resourceVersion=0", nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(got.body), got.status
	}
	var took []time.Duration
	for i := range 150 {
		key := fmt.Sprint("own/m-", i)
		began := time.Now()
		admin.create(t, configMaps, "own", configMap("own", fmt.Sprint("m-", i), "a", "x"))
		took = append(took, time.Since(began))
		if text, status := read(key); status != http.StatusOK {
			t.Fatalf("created %s: %d %s", key, status, text)
		}
		want := relabel(t, admin, configMaps.object(key), "b")
		if text, _ := read(key); text != string(want) {
			t.Fatalf("changed %s: %s, want %s", key, text, want)
		}
		admin.remove(t, configMaps, key)
		if text, status := read(key); status != http.StatusNotFound {
			t.Fatalf("deleted %s: %d %s", key, status, text)
		}
	}
	t.Logf("writes through the edge: %s", percentiles(took))
}
