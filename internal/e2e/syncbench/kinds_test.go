//go:build e2e

package syncbench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/fleet"
)

// realisticUpdates are updates of objects as large, and as full of repetition, as they are in clusters.
func realisticUpdates() []ordinary {
	const nodes, pods, deployments = "/api/v1/nodes", "/api/v1/namespaces/default/pods", "/apis/apps/v1/namespaces/default/deployments"
	const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	moved := slice("shuffled")
	return []ordinary{
		{"pod turns not ready", pods, "/web/status", managed(pod("web", "worker-1"), 3000), func(n int) object {
			return object{"status": object{"conditions": conditions([]string{"True", "False"}[n%2], n)}}
		}},
		{"node heartbeat", nodes, "/worker-1/status", node("worker-1"), func(n int) object {
			return object{"status": object{"conditions": heartbeat(n)}}
		}},
		{"node, one image added", nodes, "/worker-2/status", node("worker-2"), func(n int) object {
			return object{"status": object{"images": images(50 + n%2)}}
		}},
		{"deployment, one variable", deployments, "/web", managed(deployment(20), 1500), func(n int) object {
			return object{"spec": deployment(20 + n%2)["spec"]}
		}},
		{"lease renewed", leases, "/worker-1", object{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta("worker-1", nil),
			"spec": object{"holderIdentity": "worker-1", "leaseDurationSeconds": 40},
		}, func(n int) object { return object{"spec": object{"renewTime": microTime(n)}} }},
		{"config map of 50 KB, one character", configMaps, "/settings", configMap("settings", 49_000, 8), func(n int) object {
			changed := []byte(text(49_000, 8))
			changed[20_000] = byte('A' + n%26)
			return object{"data": object{"text": string(changed)}}
		}},
		{"slice of 100 endpoints, one added", slices, "/grown", slice("grown"), func(n int) object {
			return object{"endpoints": addresses(100+n%2, 0)}
		}},
		{"slice of 100 endpoints, reshuffled", slices, "/shuffled", moved, func(n int) object {
			all := addresses(100, 0)
			rand.New(rand.NewPCG(uint64(n), 2)).Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
			return object{"endpoints": all}
		}},
	}
}

func microTime(n int) string {
	return fmt.Sprintf("2026-01-01T%02d:%02d:%02d.%06dZ", n/3600%24, n/60%60, n%60, n*7919%1_000_000)
}

// managed gives an object so many bytes of what tells who owns which field.
func managed(o object, bytes int) object {
	fields := ""
	for i := 0; len(fields) < bytes; i++ {
		fields += fmt.Sprintf(`"f:setting-%d":{"f:name":{},"f:value":{}},`, i)
	}
	o["metadata"].(object)["annotations"] = object{"fields": fields} //nolint:forcetypeassert // made here
	return o
}

// node is a node of about 12 KB.
func node(name string) object {
	return managed(object{
		"apiVersion": "v1", "kind": "Node", "metadata": object{"name": name},
		"status": object{"conditions": heartbeat(0), "images": images(50), "nodeInfo": object{"kernelVersion": "6.12.0", "osImage": "Linux"}},
	}, 2000)
}

func heartbeat(n int) (all []object) {
	for _, kind := range []string{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"} {
		all = append(all, object{
			"type": kind, "status": "True", "reason": "Kubelet" + kind, "message": "kubelet is posting " + kind,
			"lastHeartbeatTime": microTime(n)[:19] + "Z", "lastTransitionTime": "2026-01-01T00:00:00Z",
		})
	}
	return all
}

func images(n int) (all []object) {
	for i := range n {
		repository := fmt.Sprintf("registry.example.com/team-%d/service-%d", i%7, i)
		all = append(all, object{
			"names":     []string{repository + "@sha256:" + hexText(64, uint64(i)), repository + ":v1." + fmt.Sprint(i)},
			"sizeBytes": 50_000_000 + i*1_234_567,
		})
	}
	return all
}

func hexText(n int, seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 4))
	out := make([]byte, n)
	for i := range out {
		out[i] = "0123456789abcdef"[rng.IntN(16)]
	}
	return string(out)
}

// deployment is one with so many variables in its template.
func deployment(variables int) object {
	var env []object
	for i := range variables {
		env = append(env, object{"name": fmt.Sprintf("SETTING_%d", i), "value": text(80, uint64(i))})
	}
	return object{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta("web", object{}),
		"spec": object{
			"selector": object{"matchLabels": object{"app": "web"}},
			"template": object{
				"metadata": object{"labels": object{"app": "web"}},
				"spec":     object{"containers": []object{{"name": "main", "image": "example.com/web:1", "env": env}}},
			},
		},
	}
}

// TestRealisticUpdates measures what updates of realistic objects cost on the wire, beside the objects' sizes.
func TestRealisticUpdates(t *testing.T) {
	s := measured(t)
	h := startHub(t, everything)
	kinds := realisticUpdates()
	for _, k := range kinds {
		h.cloud.create(t, k.collection, k.object)
	}
	c := newFleet(t, h, fleet.Config{Edges: 1})
	c.connect()
	for _, k := range kinds {
		h.cloud.patch(t, k.collection+k.path, k.patch(1001)) // the first one may make more than later ones
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
		raw, err := json.Marshal(k.object)
		if err != nil {
			t.Fatal(err)
		}
		mean := now.UpdateSize.Mean
		if n := now.Patches - before.Patches; n != int64(s.changes) || now.Misses != 0 {
			t.Errorf("%s: %d of %d updates came as patches, %d did not apply", k.name, n, s.changes, now.Misses)
		}
		if mean > 250 && mean > int64(len(raw))/8 {
			t.Errorf("%s: %d bytes of an object of %d", k.name, mean, len(raw))
		}
		figures.tell("realistic: "+k.name, fmt.Sprintf("message of one update to one edge, mean; the object is %d B", len(raw)), bytesText(float64(mean)))
	}
}
