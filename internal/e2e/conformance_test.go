//go:build e2e && conformance

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

// The specs of API machinery that judge an API server without the help of pods, controllers and webhooks.
const (
	specFocus = `Watchers|API Streaming|Servers with support for API chunking|Servers with support for Table|client-go should negotiate|` +
		`AggregatedDiscovery|OpenAPIV3|Discovery|server version|health handlers|request timeout|FieldValidation|ServerSideApply|` +
		`CustomResourceDefinition`
	specSkip = `\[Serial\]|\[Disruptive\]|\[Flaky\]|\[Slow\]|Feature:CBOR`
)

// expectedSpecs are the names of the specs that pass against a kube-apiserver of this version, one a line.
func expectedSpecs(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "conformance.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(string(text)), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "#")
	})
}

// newSuite is a suite for whoever serves behind the kubeconfig.
func newSuite(t *testing.T, kubeconfig string, args ...string) *suite {
	t.Helper()
	t.Setenv(detector, "false") // it lists where the specs expect no list
	if _, err := os.Stat(suiteBinary()); err != nil {
		t.Fatalf("%v: run `make bin/e2e/conformance`", err)
	}
	return &suite{t: t, kubeconfig: kubeconfig, args: args, dir: artifacts(t)}
}

// suiteCluster is a cluster as the specs expect it: with a node.
func suiteCluster(t *testing.T) *cluster.Cluster {
	t.Helper()
	c := cluster.New(t, cluster.Config{})
	kubeAPI(t, c).create(t, nodes, "", node("node-1"))
	return c
}

// TestBaselineOfConformance runs the specs against kube-apiserver itself: what passes there, and nothing else, has to be
// in the list that edges are held to.
func TestBaselineOfConformance(t *testing.T) {
	s := newSuite(t, suiteCluster(t).Kubeconfig)
	ran, err := s.run(t.Context(), "baseline", "--ginkgo.focus="+specFocus, "--ginkgo.skip="+specSkip)
	if err != nil {
		t.Fatal(err)
	}
	expected := expectedSpecs(t)
	passed := passedSpecs(t, ran)
	for _, r := range ran {
		if r.State != "passed" && slices.Contains(expected, r.name()) {
			t.Error(r)
		}
	}
	for _, name := range expected {
		if !passed[name] {
			t.Errorf("is in the list and did not pass: %s", name)
		}
	}
	for name := range passed {
		if !slices.Contains(expected, name) {
			t.Errorf("passed and is not in the list: %s", name)
		}
	}
}

func passedSpecs(t *testing.T, ran []spec) map[string]bool {
	t.Helper()
	passed := map[string]bool{}
	for _, s := range ran {
		t.Logf("%6.1fs %-6s %s", s.RunTime.Seconds(), s.State, s.name())
		if s.State == "passed" {
			passed[s.name()] = true
		}
	}
	return passed
}

// everything is a scope without limits.
const everything = `scopes:
- name: everything
  edges: ["edge-*"]
  rules:
  - {resource: secrets}
  - {group: "*", resource: "*", onDemand: true}
`

// TestConformanceOfEdge runs the specs that pass against kube-apiserver against an edge of it, with both encodings that
// clients use.
func TestConformanceOfEdge(t *testing.T) {
	c := suiteCluster(t)
	h := newHub(t, hubConfig{kubeconfig: c.Kubeconfig, scopes: everything})
	h.start()
	e := newTLSEdge(t, "edge-1", nil, h.sync)
	e.start()
	e.awaitContact(true)
	kubeconfig := e.kubeconfig(cluster.AdminToken)
	t.Run("protobuf", func(t *testing.T) { mustPass(t, newSuite(t, kubeconfig)) })
	t.Run("JSON", func(t *testing.T) { mustPass(t, newSuite(t, kubeconfig, "--kube-api-content-type=application/json")) })
	answered := mustMetric(t, e.http, "tombolo_litesrv_requests_total")
	asked, watched := mustMetric(t, h.http, "tombolo_hub_calls_total"), mustMetric(t, e.http, "tombolo_litesrv_watch_events_total")
	t.Logf("%g requests, %g of them passed on; %g events", answered, asked, watched)
	if watched == 0 {
		t.Error("no watch was served by the edge itself")
	}
}

// mustPass runs all specs of the list, and they have to pass.
func mustPass(t *testing.T, s *suite) {
	t.Helper()
	begin := time.Now()
	expected := expectedSpecs(t)
	ran := s.named(expected, 6)
	passed := passedSpecs(t, ran)
	t.Logf("%d specs passed in %s", len(passed), time.Since(begin).Round(time.Second))
	for _, r := range ran {
		if r.State != "passed" {
			t.Error(r)
		}
	}
	for _, name := range expected {
		if !passed[name] {
			t.Errorf("did not pass: %s", name)
		}
	}
}
