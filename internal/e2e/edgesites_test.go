//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

// edgeSite is an EdgeSite as JSON.
func edgeSite(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"tombolo.dev/v1alpha1","kind":"EdgeSite","metadata":{"name":%q},"spec":%s}`, name, spec)
}

var (
	edgeSites  = resource{"edgesites.tombolo.dev", "/apis/tombolo.dev/v1alpha1", "edgesites"}
	edgeScopes = resource{"edgescopes.tombolo.dev", "/apis/tombolo.dev/v1alpha1", "edgescopes"}
)

// applyCRDs defines EdgeSites and EdgeScopes.
func applyCRDs(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	runKubectl(t, c, "", "apply", "--server-side", "-k", filepath.Join("..", "..", "deploy", "crds"))
	for _, name := range []string{"edgesites", "edgescopes"} {
		runKubectl(t, c, "", "wait", "--for=condition=Established", "crd/"+name+".tombolo.dev")
	}
}

// siteStatus returns an edge's status.
func siteStatus(t *testing.T, cloud *api, name string) map[string]any {
	t.Helper()
	got, err := cloud.do(t.Context(), http.MethodGet, edgeSites.path("")+"/"+name, nil)
	if err != nil || got.status != http.StatusOK {
		t.Fatal(got.status, err)
	}
	var o struct {
		Status map[string]any `json:"status"`
	}
	if err := json.Unmarshal(got.body, &o); err != nil {
		t.Fatal(err)
	}
	return o.Status
}

// What can't be right does not come into the cloud.
func TestDefinitionsRefuseWhatCanNotBeRight(t *testing.T) {
	c := sharedCluster(t)
	applyCRDs(t, c)
	cloud := kubeAPI(t, c)
	for what, rule := range map[string]string{
		"every resource in any case":       `{"resource":"*"}`,
		"a wildcard with a node":           `{"resource":"*","onDemand":true,"boundToNode":"spec.nodeName"}`,
		"every group of one resource":      `{"resource":"pods","group":"*"}`,
		"a kind":                           `{"resource":"Pod"}`,
		"both ways to name namespaces":     `{"resource":"pods","namespaces":["a"],"namespaceSelector":"a=b"}`,
		"references from what has none":    `{"resource":"secrets","referencedBy":["deployments"]}`,
		"a rule without a resource":        `{"group":"apps"}`,
		"a resource with a group's suffix": `{"resource":"deployments.apps"}`,
	} {
		body := fmt.Sprintf(`{"apiVersion":"tombolo.dev/v1alpha1","kind":"EdgeScope","metadata":{"name":"bad"},"spec":{"rules":[%s]}}`, rule)
		got, err := cloud.do(t.Context(), http.MethodPost, edgeScopes.path(""), []byte(body))
		if err != nil || got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s %v", what, got.status, got.body, err)
		}
	}
	reserved := `{"apiVersion":"tombolo.dev/v1alpha1","kind":"EdgeScope","metadata":{"name":"node"},"spec":{"rules":[{"resource":"pods"}]}}`
	if got, err := cloud.do(t.Context(), http.MethodPost, edgeScopes.path(""), []byte(reserved)); err != nil || got.status != http.StatusUnprocessableEntity {
		t.Errorf("an EdgeScope called node: %d %s %v", got.status, got.body, err)
	}
}

// An edge is an object: what it says happens within seconds, and kubectl shows how all of them do.
func TestEdgeSites(t *testing.T) {
	c := sharedCluster(t)
	applyCRDs(t, c)
	cloud := kubeAPI(t, c)
	const ns = "edgesites"
	cloud.create(t, namespaces, "", fmt.Sprintf(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q}}`, ns))
	secret := func(name string) {
		cloud.create(t, secrets, ns, fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":%q,"namespace":%q},"stringData":{"canary":%q}}`, name, ns, name))
	}
	secret("mine")
	secret("others")
	pod := func(name, node, secret string) {
		cloud.create(t, pods, ns, fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":%q},"spec":{"nodeName":%q,"automountServiceAccountToken":false,
			"containers":[{"name":"c","image":"i","envFrom":[{"secretRef":{"name":%q}}]}]}}`, name, ns, node, secret))
	}
	pod("there", "another-node", "others")

	h := newHub(t, hubConfig{kubeconfig: c.Kubeconfig, sites: true, name: "hub-of-sites"})
	h.start()
	stranger := newEdge(t, "edge-stranger", nil, h.sync)
	stranger.launch()
	<-stranger.p.Exited()
	if log := string(stranger.p.LogTail()); !strings.Contains(log, "there is no EdgeSite of that name") {
		t.Errorf("an edge without an EdgeSite was told\n%s", log)
	}

	cloud.create(t, edgeSites, "", edgeSite("edge-1", `{"scopes":["node"],"nodes":["site-node"]}`))
	s := joinSite(t, h, cloud)
	pod("here", "site-node", "mine")
	eventually(t, func() error { return holdsSecrets(s, "mine") })
	eventually(t, func() error {
		if st := siteStatus(t, cloud, "edge-1"); st["connected"] != true || st["hub"] != "hub-of-sites" {
			return fmt.Errorf("status %v", st)
		}
		return nil
	})
	out := runKubectl(t, c, "", "get", "edgesites", "edge-1", "-o", "wide")
	if fields := strings.Fields(strings.Split(out, "\n")[1]); fields[1] != "true" || fields[2] != "hub-of-sites" {
		t.Errorf("kubectl get edgesites:\n%s", out)
	}
	runKubectl(t, c, "", "delete", "pod", "here", "-n", ns, "--force", "--grace-period=0")
	eventually(t, func() error { return holdsSecrets(s) })

	runKubectl(t, c, "", "patch", "edgesite", "edge-1", "--type=merge", "-p", `{"spec":{"suspended":true}}`)
	s.edge.awaitContact(false)
	eventually(t, func() error {
		if st := siteStatus(t, cloud, "edge-1"); st["connected"] != false {
			return fmt.Errorf("status %v", st)
		}
		return nil
	})
	runKubectl(t, c, "", "patch", "edgesite", "edge-1", "--type=merge", "-p", `{"spec":{"suspended":false}}`)
	s.edge.awaitContact(true)
	runKubectl(t, c, "", "delete", "edgesite", "edge-1")
	s.edge.awaitContact(false)
	s.edge.stop()
	if out, err := exec.Command("grep", "-rlaF", "b3RoZXJz", s.edge.dir).Output(); err == nil { // "others" in base64
		t.Errorf("a secret that the edge never needed was on its disk: %s", out)
	}
}

// holdsSecrets tells whether the edge holds just these secrets.
func holdsSecrets(s *site, names ...string) error {
	var want []string
	for _, name := range names {
		want = append(want, "edgesites/"+name)
	}
	got := s.local.list(s.t, secrets.path("")).keys(s.t)
	if !slices.Equal(got, want) {
		return fmt.Errorf("the edge holds the secrets %v, not %v", got, want)
	}
	return nil
}
