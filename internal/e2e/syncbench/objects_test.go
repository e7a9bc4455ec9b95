//go:build e2e

package syncbench

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// text returns n characters that don't compress to nothing.
func text(n int, seed uint64) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-. "
	rng := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for range n {
		b.WriteByte(letters[rng.IntN(len(letters))])
	}
	return b.String()
}

func meta(name string, annotations object) object {
	return object{"name": name, "namespace": "default", "annotations": annotations}
}

func configMap(name string, bytes int, seed uint64) object {
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta(name, nil), "data": object{"text": text(bytes, seed)}}
}

// settings is a config map of about so many bytes as programs have them: lines that are much alike, with names, numbers and
// identifiers of its own.
func settings(name string, bytes int, seed uint64) object {
	rng := rand.New(rand.NewPCG(seed, 2))
	parts := []string{"cache", "database", "server", "queue", "metrics", "auth", "storage", "worker", "session", "retry"}
	knobs := []string{"timeout-seconds", "max-connections", "enabled", "endpoint", "batch-size", "log-level", "replicas", "token-id"}
	pick := func(from []string) string { return from[rng.IntN(len(from))] }
	var b strings.Builder
	for b.Len() < bytes {
		knob, value := pick(knobs), fmt.Sprint(rng.IntN(10_000))
		switch knob {
		case "enabled":
			value = pick([]string{"true", "false"})
		case "endpoint":
			value = fmt.Sprintf("https://%s-%d.prod.svc.cluster.local:8443/v1", pick(parts), rng.IntN(500))
		case "token-id":
			value = fmt.Sprintf("%016x", rng.Uint64())
		}
		fmt.Fprintf(&b, "%s.%s.%s=%s\n", pick(parts), pick(parts), knob, value)
	}
	m := meta(name, object{"example.com/owner": "team-" + pick(parts)})
	m["labels"] = object{"app": pick(parts), "release": fmt.Sprintf("r%d", rng.IntN(100))}
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": m, "data": object{"application.properties": b.String()}}
}

const configMaps = "/api/v1/namespaces/default/configmaps"

// pod is a pod of about 9 KB.
func pod(name, node string) object {
	var env []object
	for i := range 40 {
		env = append(env, object{"name": fmt.Sprintf("SETTING_%d", i), "value": text(60, uint64(i))})
	}
	return object{
		"apiVersion": "v1", "kind": "Pod", "metadata": meta(name, object{"note": text(3000, 7)}),
		"spec": object{
			"nodeName":   node,
			"containers": []object{{"name": "main", "image": "example.com/app:1", "env": env}},
		},
		"status": object{"phase": "Running", "conditions": conditions("True", 0)},
	}
}

func conditions(status string, n int) []object {
	var out []object
	for _, kind := range []string{"PodScheduled", "Initialized", "ContainersReady", "Ready"} {
		out = append(out, object{
			"type": kind, "status": status, "lastProbeTime": nil,
			"lastTransitionTime": fmt.Sprintf("2026-01-01T00:%02d:%02dZ", n/60%60, n%60),
		})
	}
	return out
}

// slice is an EndpointSlice of 100 endpoints.
func slice(name string) object {
	return object{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
		"metadata":  object{"name": name, "namespace": "default", "labels": object{"kubernetes.io/service-name": name}},
		"endpoints": addresses(100, 0), "ports": []object{{"name": "http", "port": 8080, "protocol": "TCP"}},
	}
}

// addresses are n endpoints, of which the last one changes with version.
func addresses(n, version int) []object {
	var out []object
	for i := range n {
		ip := fmt.Sprintf("10.1.%d.%d", i/250, i%250+1)
		if i == n-1 {
			ip = fmt.Sprintf("10.2.%d.%d", version/250%250, version%250+1)
		}
		out = append(out, object{
			"addresses": []string{ip}, "conditions": object{"ready": true, "serving": true, "terminating": false},
			"nodeName": fmt.Sprintf("node-%d", i), "zone": "zone-a",
			"targetRef": object{"kind": "Pod", "namespace": "default", "name": fmt.Sprintf("app-7d4b9c6f5d-%05d", i), "uid": fmt.Sprintf("0b7e2f0a-0000-4000-8000-%012d", i)},
		})
	}
	return out
}

const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
