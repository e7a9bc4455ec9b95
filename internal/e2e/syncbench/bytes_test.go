//go:build e2e

package syncbench

import (
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/fleet"
)

// everything are the rules of a scope with the resources that are written here.
const everything = `  - resource: pods
  - resource: nodes
  - resource: configmaps
    namespaces: [default]
  - group: apps
    resource: deployments
  - group: coordination.k8s.io
    resource: leases
  - group: discovery.k8s.io
    resource: endpointslices
`

// ordinary is a kind of update as they come in clusters: version n is a merge patch.
type ordinary struct {
	name, collection, path string
	object                 object
	patch                  func(n int) object
}

func ordinaryUpdates() []ordinary {
	clock := func(n int) string { return fmt.Sprintf("2026-01-01T%02d:%02d:%02d.000000Z", n/3600%24, n/60%60, n%60) }
	return []ordinary{
		{"pod turns ready or not", "/api/v1/namespaces/default/pods", "/app/status", pod("app", "node-1"), func(n int) object {
			return object{"status": object{"conditions": conditions([]string{"True", "False"}[n%2], n)}}
		}},
		{"node heartbeat", "/api/v1/nodes", "/node-1/status", object{
			"apiVersion": "v1", "kind": "Node", "metadata": object{"name": "node-1", "annotations": object{"images": text(9000, 3)}},
		}, func(n int) object {
			return object{"status": object{"conditions": []object{
				{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": clock(n)[:19] + "Z"},
			}}}
		}},
		{"deployment scaled", "/apis/apps/v1/namespaces/default/deployments", "/app", object{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta("app", object{"note": text(5000, 4)}),
			"spec": object{
				"replicas": 1, "selector": object{"matchLabels": object{"app": "app"}},
				"template": object{
					"metadata": object{"labels": object{"app": "app"}},
					"spec":     object{"containers": []object{{"name": "main", "image": "example.com/app:1"}}},
				},
			},
		}, func(n int) object { return object{"spec": object{"replicas": 1 + n%9}} }},
		{"lease renewed", "/apis/coordination.k8s.io/v1/namespaces/default/leases", "/holder", object{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta("holder", nil),
			"spec": object{"holderIdentity": "node-1", "leaseDurationSeconds": 40},
		}, func(n int) object { return object{"spec": object{"renewTime": clock(n)}} }},
		{"config map of 50 KB, a word", configMaps, "/large", configMap("large", 50_000, 5), func(n int) object {
			return object{"data": object{"word": fmt.Sprint("word-", n)}}
		}},
		{"slice of 100 endpoints, one moved", slices, "/app", slice("app"), func(n int) object {
			return object{"endpoints": addresses(100, n)}
		}},
	}
}

// TestOrdinaryUpdates measures what single updates cost on the wire.
func TestOrdinaryUpdates(t *testing.T) {
	s := measured(t)
	h := startHub(t, everything)
	kinds := ordinaryUpdates()
	for _, k := range kinds {
		h.cloud.create(t, k.collection, k.object)
	}
	c := newFleet(t, h, fleet.Config{Edges: 1})
	c.connect()
	var all, most float64
	smallest, largest := int64(math.MaxInt64), int64(0)
	for _, k := range kinds {
		h.cloud.patch(t, k.collection+k.path, k.patch(1000)) // the first one may make more than later ones
		c.awaitUpdates(fleet.Stats{}, c.Stats().Updates)
		time.Sleep(100 * time.Millisecond)
		before := c.Stats()
		c.Reset()
		for n := range s.changes {
			at := c.Stats()
			h.cloud.patch(t, k.collection+k.path, k.patch(n))
			c.awaitUpdates(at, 1)
		}
		now := c.Stats()
		if n := now.Updates - before.Updates; n != int64(s.changes) {
			t.Errorf("%s: %d updates came of %d", k.name, n, s.changes)
		}
		if n := now.Patches - before.Patches; n != int64(s.changes) || now.Misses != 0 {
			t.Errorf("%s: %d of %d updates came as patches, %d did not apply", k.name, n, s.changes, now.Misses)
		}
		smallest, largest = min(smallest, now.UpdateSize.Mean), max(largest, now.UpdateSize.Mean)
		figures.tell("bytes per update: "+k.name, "message of one update to one edge, mean", bytesText(float64(now.UpdateSize.Mean)))
		all += float64(now.UpdateSize.Mean) / float64(len(kinds))
		most = max(most, float64(now.UpdateSize.P99))
	}
	if largest > 5*smallest { // the objects' sizes are a hundred times apart
		t.Errorf("updates take %d to %d bytes: they depend on the size of the object", smallest, largest)
	}
	figures.add("bytes per ordinary update", "mean of the kinds above; 99 of 100 are not above the second", bytesText(all)+", "+bytesText(most),
		"100 B, 1 KB", all <= 100 && most <= 1000)
}

// fill makes n config maps of 1 KB.
func fill(t *testing.T, h *hub, n int, of func(name string, bytes int, seed uint64) object) {
	t.Helper()
	h.cloud.each(n, func(i int) { h.cloud.create(t, configMaps, of(name(i), 1000, uint64(i))) })
}

func name(i int) string { return fmt.Sprintf("object-%05d", i) }

const someConfigMaps = "  - resource: configmaps\n    namespaces: [default]\n"

// TestUnchangedResume measures an edge that comes back to what has not changed.
func TestUnchangedResume(t *testing.T) {
	s := measured(t)
	h := startHub(t, someConfigMaps)
	fill(t, h, s.objects, configMap)
	c := newFleet(t, h, fleet.Config{Edges: 1})
	c.connect()
	c.disconnect()
	before := c.Stats()
	c.connect()
	now := c.Stats()
	if now.Operations != before.Operations || now.Inventories != before.Inventories {
		t.Errorf("an unchanged resume brought %d operations and took %d inventories",
			now.Operations-before.Operations, now.Inventories-before.Inventories)
	}
	bytes := float64(now.BytesIn + now.BytesOut - before.BytesIn - before.BytesOut)
	wire := float64(now.WireIn + now.WireOut - before.WireIn - before.WireOut)
	trips := 1 + now.Inventories - before.Inventories
	figures.add(fmt.Sprintf("unchanged resume of %d objects", s.objects), "messages both ways until the edge has caught up; round trips",
		fmt.Sprintf("%s, %d", bytesText(bytes), trips), "200 B, 1", bytes <= 200 && trips == 1)
	figures.tell("the same, connection included", "TCP payload both ways, handshake of mutual TLS included", bytesText(wire))
}

// TestWeeksOffline measures an edge that comes back after the hub has forgotten what happened. What objects take depends on
// what is in them: those of the aim are settings as programs have them. That of letters by chance, which hardly compress,
// is told beside it.
func TestWeeksOffline(t *testing.T) {
	t.Run("settings", func(t *testing.T) {
		bytes, what := weeksOffline(t, settings)
		figures.add(what, "messages both ways until the edge has caught up; config maps of 1 KB of settings", bytesText(bytes), "150 KB", bytes <= 150_000)
	})
	t.Run("letters", func(t *testing.T) {
		bytes, _ := weeksOffline(t, configMap)
		figures.tell("the same, letters by chance", "config maps of 1 KB that hardly compress", bytesText(bytes))
	})
}

// weeksOffline returns what the catch-up took, and what it was of.
func weeksOffline(t *testing.T, of func(name string, bytes int, seed uint64) object) (bytes float64, what string) {
	t.Helper()
	s := measured(t)
	h := startHub(t, someConfigMaps, "--window-events", "64")
	fill(t, h, s.objects, of)
	c := newFleet(t, h, fleet.Config{Edges: 1})
	c.connect()
	c.disconnect()
	changed, gone := s.objects/25, s.objects/100
	h.cloud.each(changed, func(i int) { h.cloud.patch(t, configMaps+"/"+name(i), marker()) })
	h.cloud.each(gone, func(i int) {
		h.cloud.create(t, configMaps, of(name(s.objects+i), 1000, uint64(s.objects+i)))
		h.cloud.remove(t, configMaps+"/"+name(changed+i))
	})
	before := c.Stats()
	c.connect()
	now := c.Stats()
	ops := now.Operations - before.Operations
	if want := int64(changed + 2*gone); ops != want {
		t.Errorf("%d operations came, %d objects differ", ops, want)
	}
	return float64(now.BytesIn + now.BytesOut - before.BytesIn - before.BytesOut),
		fmt.Sprintf("weeks offline: %d changed, %d new, %d deleted of %d", changed, gone, gone, s.objects)
}

// twenty are rules for twenty resources.
func twenty() (rules string) {
	for group, resources := range map[string][]string{
		"": {
			"pods", "services", "endpoints", "configmaps", "secrets", "nodes", "serviceaccounts", "persistentvolumes",
			"persistentvolumeclaims", "replicationcontrollers", "limitranges", "resourcequotas",
		},
		"apps":              {"deployments", "daemonsets", "statefulsets", "replicasets"},
		"batch":             {"jobs", "cronjobs"},
		"networking.k8s.io": {"ingresses", "networkpolicies"},
	} {
		for _, r := range resources {
			rules += fmt.Sprintf("  - group: %q\n    resource: %s\n", group, r)
		}
	}
	return rules
}

// TestIdleLink measures what a link carries on which nothing happens, while the cloud changes elsewhere.
func TestIdleLink(t *testing.T) {
	s := measured(t)
	h := startHub(t, twenty())
	edges := min(s.edges, 100)
	c := newFleet(t, h, fleet.Config{Edges: edges})
	c.connect()
	time.Sleep(time.Second)
	before, start := c.Stats(), time.Now()
	for i := range s.idle {
		h.cloud.do(t, http.MethodPost, "/api/v1/namespaces", "application/json", object{
			"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": fmt.Sprintf("elsewhere-%d", i)},
		})
		time.Sleep(time.Second)
	}
	now := c.Stats()
	if now.Updates != before.Updates {
		t.Errorf("%d updates came on idle links", now.Updates-before.Updates)
	}
	seconds := time.Since(start).Seconds() * float64(edges)
	rate := float64(now.WireIn+now.WireOut-before.WireIn-before.WireOut) / seconds
	figures.add("idle link, 20 resources", "TCP payload of an edge both ways, one write a second to what is not in its scope",
		fmt.Sprintf("%.1f B/s", rate), "10 B/s", rate <= 10)
	if rate > 20 { // a slow machine sends no more in a second; what is left of connecting counts in a short run
		t.Errorf("an idle link carries %.1f B/s", rate)
	}
}
