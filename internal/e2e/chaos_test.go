//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// chaosNamespace holds everything that edges are given of namespaced resources, but for what they ask for.
const chaosNamespace = "chaos"

// chaosSize says how long and how many.
type chaosSize struct {
	duration time.Duration // of the time in which things fail
	edges    int
}

// chaosSizeOf is what CI has the time for, or what TOMBOLO_E2E_CHAOS and TOMBOLO_E2E_EDGES say.
func chaosSizeOf(t *testing.T) chaosSize {
	t.Helper()
	size := chaosSize{duration: 45 * time.Second, edges: 6}
	var err error
	if text := os.Getenv("TOMBOLO_E2E_CHAOS"); text != "" {
		if size.duration, err = time.ParseDuration(text); err != nil {
			t.Fatalf("TOMBOLO_E2E_CHAOS: %v", err)
		}
	}
	if text := os.Getenv("TOMBOLO_E2E_EDGES"); text != "" {
		if size.edges, err = strconv.Atoi(text); err != nil || size.edges < 4 {
			t.Fatalf("TOMBOLO_E2E_EDGES=%s: at least 4 are needed (%v)", text, err)
		}
	}
	return size
}

// chaos is a real cloud, hubs and edges, of which anything may fail at any moment. All but the loads and the readers
// happens in the test's goroutine.
type chaos struct {
	*site   // readers, and what they are judged by; it has no edge of its own
	rng     *rand.Rand
	trail   *trail
	cluster *cluster.Cluster
	hubs    []*chaosHub
	edges   []*chaosEdge
	jumpers string // directory of hub and edge with clocks that jump
	jumps   int    // of clocks, so far

	load     *load
	through  *throughEdges
	saved    *cluster.Backup
	restores int
	full     int    // how often an edge said that its disk was full
	changes  [4]int // of chaosResources, in histories that have ended
	samples  []sample

	informers *informerSet // at an edge without other clients
}

// TestChaos lets everything fail in an order that the seed decides, under writes, and wants it all to be right in the end.
func TestChaos(t *testing.T) {
	size := chaosSizeOf(t)
	c := newChaos(t, seed(t), size.edges)
	c.read()
	c.load = startLoad(c.t, c.history, c.cloud, c.trail.seed, 60, c.kinds()...)
	c.through = c.writeThroughEdges()
	c.load.awaitCount(300)
	c.beginCounts()

	c.unleash(size.duration)
	c.surelyFillDisk()

	c.load.stop()
	c.through.stop()
	t.Logf("%d writes in the cloud, %d through edges, %d of these unanswered", c.load.count.Load(), c.through.done.Load(), c.through.unknown.Load())
	c.healAll()
	c.catchUp()
	c.sparing()
	c.compare()
	c.steady(c.load)
	c.compare()
	c.flat()
	c.judge()
	for _, reader := range c.history.Untold() {
		t.Logf("carried over a restore without a trace of it: %s", reader)
	}
	for _, e := range c.edges {
		e.kill()
		e.check()
	}
}

// newChaos starts everything and waits until all edges have their scopes.
func newChaos(t *testing.T, seed uint64, edges int) *chaos {
	t.Helper()
	t.Logf("TOMBOLO_E2E_SEED=%d TOMBOLO_E2E_EDGES=%d", seed, edges)
	// In hubs client-go's detector would ask for an exact list at the revision of a first list, for ever when that is compacted.
	t.Setenv(detector, "false")
	trail := newTrail(t, seed)
	tb := told{t, trail}
	c := &chaos{
		rng: rand.New(rand.NewPCG(seed, 1)), trail: trail,
		cluster: cluster.New(tb, cluster.Config{
			ReadyTimeout: 3 * patience, StopTimeout: patience,
			// Without it a server that is told to stop waits a minute for clients to end their watches.
			APIServerArgs: []string{"--shutdown-watch-termination-grace-period=2s"},
		}),
	}
	c.site = &site{t: tb, history: guarantee.NewHistory(), cloud: kubeAPI(tb, c.cluster)}
	c.jumpers = buildJumping(c)
	c.fillCloud()
	for i := range 3 {
		c.hubs = append(c.hubs, newChaosHub(c, i, chaosScopes(edges)))
	}
	for i := range edges {
		c.edges = append(c.edges, newChaosEdge(c, i))
	}
	for _, e := range c.edges {
		e.awaitReady()
		e.awaitContact(true)
	}
	c.edge, c.local = c.edges[0].edge, c.edges[0].api
	return c
}

// ballast is how many objects every edge holds that never change: what is sent again for no reason shows.
const ballast = 2000

// fillCloud makes what the scopes are about.
func (c *chaos) fillCloud() {
	c.t.Helper()
	c.cloud.create(c.t, namespaces, "", fmt.Sprintf(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q}}`, chaosNamespace))
	c.cloud.create(c.t, definitions, "", widgetDefinition)
	eventually(c.t, func() error {
		_, err := c.cloud.tryList(c.t, widgets.path(""))
		return err
	})
	c.cloud.create(c.t, clusterRoleBindings, "", `{"kind":"ClusterRoleBinding","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"edges"},`+
		`"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},`+
		`"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"tombolo:edges"}]}`)
	concurrently(ballast, func(i int) {
		name := fmt.Sprintf("ballast-%04d", i)
		c.cloud.create(c.t, secrets, chaosNamespace, secret(chaosNamespace, name, name))
	})
}

var clusterRoleBindings = resource{"clusterrolebindings", "/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings"}

// chaosScopes give each edge the pods of a node, and the same of everything else.
func chaosScopes(edges int) string {
	scopes := "scopes:\n"
	for i := range edges {
		scopes += fmt.Sprintf(`- name: site %[1]d
  edges: [edge-%[1]d]
  nodes: [node-%[1]d]
  rules:
  - {resource: pods, boundToNode: spec.nodeName}
  - {resource: configmaps, namespaces: [%[2]s]}
  - {resource: secrets, namespaces: [%[2]s]}
  - {group: ex.io, resource: widgets, namespaces: [%[2]s]}
  - {group: "*", resource: "*", onDemand: true}
`, i, chaosNamespace)
	}
	return scopes
}
