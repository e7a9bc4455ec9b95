//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/e2e/proc"
)

// hub is a cloudhub process.
type hub struct {
	*server
	api  string // URL of the embedded cloud's API; "" with a cluster
	sync string // host:port for edges
	http string // URL of health and metrics
}

// defaultScopes let an edge hold what the tests use.
const defaultScopes = `scopes:
- name: tests
  edges: ["edge-*"]
  nodes: ["node-1"]
  rules:
  - resource: pods
    boundToNode: spec.nodeName
  - resource: configmaps
    namespaces: [default]
  - resource: secrets
    namespaces: [default]
  - resource: nodes
  - resource: namespaces
`

// hubConfig says what a hub serves. Without a kubeconfig it has an embedded cloud.
type hubConfig struct {
	name       string // default "cloudhub"
	kubeconfig string
	scopes     string // default defaultScopes
	sites      bool   // EdgeSites of the cloud in place of scopes
	args       []string
	transport  []string // default --insecure-dev
	edgeArgs   []string // of the edge in a site
}

// newHub prepares a hub on ports of its own. It isn't started.
func newHub(t testing.TB, cfg hubConfig) *hub {
	t.Helper()
	if cfg.name == "" {
		cfg.name = "cloudhub"
	}
	if cfg.scopes == "" {
		cfg.scopes = defaultScopes
	}
	if cfg.transport == nil {
		cfg.transport = []string{"--insecure-dev"}
	}
	ports := freePorts(t, 3)
	h := &hub{sync: ports[0], http: "http://" + ports[1]}
	dir := t.TempDir()
	scopes := filepath.Join(dir, "scopes.yaml")
	if err := os.WriteFile(scopes, []byte(cfg.scopes), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"run", "--sync-addr", ports[0], "--http-addr", ports[1], "--progress-interval", "1s"}
	if cfg.sites {
		args = append(args, "--sites", "--name", cfg.name)
	} else {
		args = append(args, "--scopes", scopes)
	}
	args = append(args, cfg.transport...)
	if cfg.kubeconfig != "" {
		args = append(args, "--kubeconfig", cfg.kubeconfig)
	} else {
		h.api = "http://" + ports[2]
		args = append(args, "--embedded", filepath.Join(dir, "cloud"), "--api-addr", ports[2])
	}
	args = append(args, cfg.args...)
	h.server = newServer(t, cfg.name, "cloudhub", h.http+"/readyz", args...)
	return h
}

// freePorts returns n loopback addresses that nothing listens on.
func freePorts(t testing.TB, n int) []string {
	t.Helper()
	ports, err := proc.FreePorts(n)
	if err != nil {
		t.Fatal(err)
	}
	addrs := make([]string, n)
	for i, port := range ports {
		addrs[i] = fmt.Sprintf("127.0.0.1:%d", port)
	}
	return addrs
}
