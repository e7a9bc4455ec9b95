//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// restoring is a site whose cloud can be restored and replaced, with informers at the edge that run all the time.
type restoring struct {
	*site
	cluster   *cluster.Cluster
	informers *informerSet
	loads     uint64
}

const restoreScopes = `scopes:
- name: tests
  edges: ["edge-*"]
  rules:
  - {resource: configmaps, namespaces: [default]}
`

func newRestoring(t *testing.T) *restoring {
	t.Helper()
	c := cluster.New(t, cluster.Config{})
	h := newHub(t, hubConfig{kubeconfig: c.Kubeconfig, scopes: restoreScopes})
	h.start()
	r := &restoring{site: joinSite(t, h, kubeAPI(t, c)), cluster: c}
	r.create("o", 200)
	r.informers = startInformers(t, r.local.base, "application/json")
	r.informers.awaitSynced(t)
	r.informers.awaitHolds(t, r.versions("default"))
	return r
}

// create creates ConfigMaps of 4 KB.
func (r *restoring) create(prefix string, n int) {
	r.t.Helper()
	concurrently(n, func(i int) {
		r.cloud.create(r.t, configMaps, "default", configMap("default", fmt.Sprintf("%s-%03d", prefix, i), "a", strings.Repeat("x", 4000)))
	})
}

// lose makes what a backup of before does not have: changes, deletions, creations and a recreation.
func (r *restoring) lose(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"annotate", "--overwrite", "configmap", "o-001", "o-002", "o-003", "lost=" + fmt.Sprint(time.Now().UnixNano())},
		{"delete", "configmap", "o-004", "o-005", "o-006"},
		{"create", "configmap", "created", "--from-literal=text=lost"},
		{"create", "configmap", "o-006", "--from-literal=text=lost"},
	} {
		if out, err := r.cluster.Kubectl(t.Context(), append(args, "-n", "default")...).CombinedOutput(); err != nil {
			t.Fatalf("kubectl %v: %v\n%s", args, err, out)
		}
	}
	r.informers.awaitHolds(t, r.versions("default"))
}

// differing is how many objects lose makes different.
const differing = 7

// goesBack waits until edge and informers hold what the cloud does, and checks that only what differs has travelled.
func (r *restoring) goesBack(t *testing.T, operations, rewinds float64, more int) {
	t.Helper()
	began := time.Now()
	r.informers.awaitHolds(t, r.versions("default"))
	t.Logf("informers are back %s after the cloud", time.Since(began).Round(time.Millisecond))
	r.edge.awaitContact(true)
	if err := sameItemsWithin(t, r.local, configMaps.path("default"), r.cloud, configMaps.path("default")); err != nil {
		t.Error(err)
	}
	got := mustMetric(t, r.edge.http, "tombolo_edge_operations_total") - operations
	t.Logf("%g operations for %d objects that differ and %d writes", got, differing, more)
	if got > float64(2*(differing+more)) {
		t.Errorf("%g operations, of 200 objects %d differ", got, differing+more)
	}
	if n := mustMetric(t, r.edge.http, "tombolo_edge_rewinds_total") - rewinds; n != 1 {
		t.Errorf("the edge went back %g times", n)
	}
}

// judged writes to the cloud, and judges what readers of cloud and edge see of that.
func (r *restoring) judged(t *testing.T) {
	t.Helper()
	s := *r.site
	s.t, s.history, s.readers, s.stops = t, guarantee.NewHistory(), nil, nil
	s.sources(configMaps)
	s.watch(s.local, configMaps, guarantee.ReaderConfig{}, nil)
	r.loads++ // each names its objects after its seed
	l := startLoad(t, s.history, s.cloud, seed(t)+r.loads, 100, loadKinds[0])
	l.awaitCount(100)
	l.stop()
	s.settle(configMaps)
	r.informers.awaitHolds(t, r.versions("default"))
}

// TestRestoredCloud: etcd is put back to a backup, while the edge follows and while it does not, and at last another
// cluster takes the address over. Edge and informers come along within seconds, without a restart of anything of ours.
func TestRestoredCloud(t *testing.T) {
	r := newRestoring(t)
	backup := func(t *testing.T) cluster.Backup {
		t.Helper()
		b, err := r.cluster.Backup(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	counts := func(t *testing.T) (float64, float64) {
		t.Helper()
		return mustMetric(t, r.edge.http, "tombolo_edge_operations_total"), mustMetric(t, r.edge.http, "tombolo_edge_rewinds_total")
	}
	t.Run("connected", func(t *testing.T) {
		saved := backup(t)
		r.informers.awaitHolds(t, r.versions("default"))
		r.lose(t)
		operations, rewinds := counts(t)
		if err := r.cluster.Restore(t.Context(), saved); err != nil {
			t.Fatal(err)
		}
		r.goesBack(t, operations, rewinds, 0)
		r.judged(t)
	})
	t.Run("connected, and writes pass the old revision before the hub looks", func(t *testing.T) {
		saved := backup(t)
		r.informers.awaitHolds(t, r.versions("default"))
		r.lose(t)
		operations, rewinds := counts(t)
		before := r.revision()
		r.hub.pause()
		if err := r.cluster.Restore(t.Context(), saved); err != nil {
			t.Fatal(err)
		}
		n := r.pass(t, before)
		r.hub.resume()
		r.goesBack(t, operations, rewinds, n)
		r.judged(t)
	})
	t.Run("disconnected, and writes pass the old revision", func(t *testing.T) {
		saved := backup(t)
		r.informers.awaitHolds(t, r.versions("default"))
		r.lose(t)
		operations, rewinds := counts(t)
		before := r.revision()
		r.cut()
		if err := r.cluster.Restore(t.Context(), saved); err != nil {
			t.Fatal(err)
		}
		n := r.pass(t, before)
		r.heal()
		r.goesBack(t, operations, rewinds, n)
		r.judged(t)
	})
	t.Run("another cluster", func(t *testing.T) {
		if err := r.cluster.Replace(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.create("other", 20)
		r.informers.awaitHolds(t, r.versions("default"))
		r.judged(t)
	})
	r.edge.stop()
	r.edge.check()
}

// pass writes until the cloud's revision is behind rev, and returns how many writes that took.
func (r *restoring) pass(t *testing.T, rev uint64) int {
	t.Helper()
	n := 0
	for ; r.revision() <= rev; n++ {
		r.cloud.create(t, configMaps, "default", configMap("default", fmt.Sprintf("pass-%d-%03d", rev, n), "a", "x"))
	}
	return n
}
