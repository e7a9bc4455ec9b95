//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

// scriptScopes let an edge hold what the script reads while the link is cut.
const scriptScopes = `scopes:
- name: script
  edges: ["edge-*"]
  rules:
  - {resource: pods}
  - {resource: configmaps}
  - {resource: secrets}
  - {resource: services}
  - {resource: events}
  - {resource: serviceaccounts}
  - {resource: resourcequotas}
  - {resource: limitranges}
  - {resource: nodes}
  - {resource: namespaces}
  - {group: apps, resource: deployments}
  - {group: apps, resource: replicasets}
  - {group: coordination.k8s.io, resource: leases}
  - {group: discovery.k8s.io, resource: endpointslices}
  - {group: apiextensions.k8s.io, resource: customresourcedefinitions}
  - {group: ex.io, resource: widgets}
`

// edgesAreAdmins gives edges all rights, so that what they do is not refused.
const edgesAreAdmins = `{"kind":"ClusterRoleBinding","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"edges"},
"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},
"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"tombolo:edges"}]}`

// letEdgesDoAll makes edges admins until the test ends.
func letEdgesDoAll(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	runKubectl(t, c, edgesAreAdmins, "apply", "-f", "-")
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context()) // which has ended
		if out, err := c.Kubectl(ctx, "delete", "clusterrolebinding", "edges").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// scriptObjects are applied by the script, in the namespace NS.
const scriptObjects = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: NS, labels: {app: shop}}
data: {color: "<blue>", size: "3"}
---
apiVersion: v1
kind: Secret
metadata: {name: password, namespace: NS}
stringData: {key: value}
---
apiVersion: v1
kind: Service
metadata: {name: shop, namespace: NS, labels: {app: shop}}
spec: {clusterIP: None, selector: {app: shop}, ports: [{port: 80, name: http}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: NS, labels: {app: shop}}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: web, image: "registry.example/shop:1", resources: {limits: {cpu: 500m, memory: 64Mi}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: one, namespace: NS, labels: {app: shop}}
spec:
  automountServiceAccountToken: false
  containers: [{name: web, image: "registry.example/shop:1", env: [{name: COLOR, valueFrom: {configMapKeyRef: {name: settings, key: color}}}]}]
---
apiVersion: ex.io/v1
kind: Widget
metadata: {name: gear, namespace: NS}
spec: {color: red, size: 3}
`

// scriptStep is one call of kubectl. What it prints, and its exit code, have to be the same at cloud and edge.
type scriptStep struct {
	args  string
	stdin string
}

// scriptWrites change objects, and look at what came of it at once.
var scriptWrites = []scriptStep{
	{"apply -f -", scriptObjects},
	{"apply -f -", scriptObjects},
	{"get configmap settings -n NS -o jsonpath={.data}", ""},
	{"apply -f -", strings.Replace(scriptObjects, `"<blue>"`, "green", 1)},
	{"get configmap settings -n NS -o jsonpath={.data}", ""},
	{"apply --server-side --force-conflicts -f -", strings.Replace(scriptObjects, "replicas: 2", "replicas: 3", 1)},
	{"get deployment shop -n NS -o jsonpath={.spec.replicas}{.metadata.managedFields[*].manager}", ""},
	{"apply --server-side --field-manager=other -f -", strings.Replace(scriptObjects, "replicas: 2", "replicas: 5", 1)},
	{"diff -f -", strings.Replace(scriptObjects, `size: "3"`, `size: "4"`, 1)},
	{"diff -f -", scriptObjects},
	{"patch configmap settings -n NS --type=merge -p {\"data\":{\"size\":\"7\"}}", ""},
	{"patch configmap settings -n NS --type=json -p [{\"op\":\"remove\",\"path\":\"/data/color\"}]", ""},
	{"patch deployment shop -n NS -p {\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"web\",\"image\":\"registry.example/shop:2\"}]}}}}", ""},
	{"get deployment shop -n NS -o jsonpath={.spec.template.spec.containers[*].image}", ""},
	{"label pod one -n NS tier=front", ""},
	{"label pod one -n NS tier=back", ""},
	{"label pod one -n NS tier=back --overwrite", ""},
	{"annotate pod one -n NS note=x", ""},
	{"get pods -n NS -l tier=back -o name", ""},
	{"edit configmap settings -n NS", ""},
	{"get configmap settings -n NS -o jsonpath={.data}", ""},
	{"scale deployment shop -n NS --replicas=4", ""},
	{"scale deployment shop -n NS --replicas=1 --current-replicas=9", ""},
	{"get deployment shop -n NS -o jsonpath={.spec.replicas}", ""},
	{"set image deployment/shop -n NS web=registry.example/shop:3", ""},
	{"set env deployment/shop -n NS A=b", ""},
	{"create configmap extra -n NS --from-literal=a=b", ""},
	{"create configmap extra -n NS --from-literal=a=b", ""},
	{"create configmap dry -n NS --from-literal=a=b --dry-run=server -o name", ""},
	{"get configmap dry -n NS", ""},
	{"create token default -n NS", ""},
	{"replace -f -", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra, namespace: NS}\ndata: {a: c}\n"},
	{"wait pod/one -n NS --for=jsonpath={.metadata.labels.tier}=back --timeout=20s", ""},
	{"wait pod/one -n NS --for=condition=Ready --timeout=1s", ""},
	{"delete configmap extra -n NS", ""},
	{"get configmap extra -n NS", ""},
	{"delete configmap extra -n NS --ignore-not-found", ""},
	{"wait configmap/extra -n NS --for=delete --timeout=20s", ""},
	{"create -f -", "apiVersion: ex.io/v1\nkind: Widget\nmetadata: {name: bad, namespace: NS}\nspec: {size: big}\n"},
	{"create -f -", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad_Name, namespace: NS}\n"},
	{"create -f -", "apiVersion: nowhere.io/v1\nkind: Thing\nmetadata: {name: x, namespace: NS}\n"},
	{"create deployment many -n NS --image=i", ""},
	{"delete deployments -n NS -l app=many", ""},
	{"get deployments -n NS -o name", ""},
	{"logs one -n NS", ""},
	{"exec one -n NS -- ls", ""},
	{"attach one -n NS", ""},
	{"port-forward one -n NS 0:80 --pod-running-timeout=1s", ""},
	{"logs nobody -n NS", ""},
	{"auth can-i create pods -n NS", ""},
	{"auth can-i --list -n NS --no-headers", ""},
	{"top pods -n NS", ""},
	{"rollout history deployment/shop -n NS", ""},
	{"rollout restart deployment/nobody -n NS", ""},
	{"cordon NS", ""},
	{"taint node NS k=v:NoSchedule", ""},
	{"uncordon NS", ""},
	{"get node NS -o jsonpath={.spec.taints}", ""},
}

// scriptReads only read. They have to give the same with the link cut.
var scriptReads = []scriptStep{
	{"get pods -n NS", ""},
	{"get pods -n NS -o wide", ""},
	{"get pod one -n NS", ""},
	{"get pod one -n NS -o yaml", ""},
	{"get namespace NS -o json --show-managed-fields", ""},
	{"get pods,configmaps,secrets,services,deployments -n NS", ""},
	{"get pods -n NS --show-labels --sort-by=.metadata.name", ""},
	{"get pods -n NS -L app -l app=shop", ""},
	{"get pods -n NS --field-selector=status.phase=Pending -o name", ""},
	{"get configmaps -n NS --chunk-size=1", ""},
	{"get configmaps -n NS -o custom-columns=N:.metadata.name,D:.data", ""},
	{"get configmap settings -n NS -o go-template={{.data}}", ""},
	{"get secret password -n NS -o jsonpath={.data.key}", ""},
	{"get secrets -n NS -o name", ""},
	{"get widgets -n NS", ""},
	{"get widgets -n NS -o yaml", ""},
	{"get widgets.v1.ex.io gear -n NS -o json", ""},
	{"get widgets -n NS --field-selector=spec.color=red -o name", ""},
	{"get deployments -n NS -o wide", ""},
	{"get deploy shop -n NS --output-watch-events=false", ""},
	{"get services -n NS", ""},
	{"get nodes NS", ""},
	{"get nodes NS -o wide", ""},
	{"get namespace NS", ""},
	{"get crd widgets.ex.io", ""},
	{"get events -n NS", ""},
	{"events -n NS", ""},
	{"get pod nobody -n NS", ""},
	{"get nothings -n NS", ""},
	{"get pods -n nowhere", ""},
	{"get pods -n NS -l a=b", ""},
	{"get pods -n NS -l a,,b", ""},
	{"describe pod one -n NS", ""},
	{"describe deployment shop -n NS", ""},
	{"describe configmap settings -n NS", ""},
	{"describe secret password -n NS", ""},
	{"describe service shop -n NS", ""},
	{"describe node NS", ""},
	{"describe namespace NS", ""},
	{"describe widget gear -n NS", ""},
	{"explain pods.spec.containers.resources", ""},
	{"explain widgets.spec", ""},
	{"explain deployment --recursive", ""},
	{"explain pods --output=plaintext-openapiv2", ""},
	{"api-resources --no-headers", ""},
	{"api-resources -o wide --api-group=apps --no-headers", ""},
	{"api-versions", ""},
	{"version -o json", ""},
	{"get --raw /api/v1/namespaces/NS/configmaps/settings", ""},
	{"get --raw /apis/apps/v1", ""},
	{"get --raw /openapi/v3", ""},
	{"wait pod/one -n NS --for=jsonpath={.metadata.labels.tier}=back --timeout=20s", ""},
	{"wait configmap/extra -n NS --for=delete --timeout=20s", ""},
	{"rollout history deployment/shop -n NS", ""},
}

// differsEachTime is what two runs of the same thing don't have in common.
var differsEachTime = []*regexp.Regexp{
	regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
	regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*(Z| [+-]\d{4})?`),
	regexp.MustCompile(`[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}`),
	regexp.MustCompile(`(?i)"?resource ?version"?: *"?\d+"?`),
	regexp.MustCompile(`\b(\d+[ywdhms])+\b`),
	regexp.MustCompile(`eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+`),
	regexp.MustCompile(`(LIVE|MERGED)-\d+|/tmp/[^ \t\n]+`),
	regexp.MustCompile(`https?://[^ "]+`),
	regexp.MustCompile(`[ \t]+`), // columns are as wide as what is in them
}

// scriptSide is where a script runs.
type scriptSide struct {
	t         *testing.T
	c         *cluster.Cluster
	namespace string
	flags     []string
	home      string
}

// run runs one step and returns what can be compared.
func (s *scriptSide) run(step scriptStep) string {
	in := func(text string) string { return strings.ReplaceAll(text, "NS", s.namespace) }
	args := append([]string{}, s.flags...)
	for _, a := range strings.Fields(step.args) {
		args = append(args, in(a))
	}
	cmd := s.c.Kubectl(s.t.Context(), args...)
	cmd.Env = append(cmd.Env, "KUBE_EDITOR=sed -i s/\\\"7\\\"/\\\"8\\\"/", "HOME="+s.home, "DIFF=diff -u", detector+"=false")
	cmd.Stdin = strings.NewReader(in(step.stdin))
	out, err := cmd.CombinedOutput()
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		s.t.Fatal(err)
	}
	text := strings.ReplaceAll(string(out), s.namespace, "NS")
	for _, r := range differsEachTime {
		text = r.ReplaceAllString(text, " ")
	}
	return fmt.Sprintf("exit %d\n%s", code, text)
}

// TestKubectlScript does the same with kubectl at cloud and edge, and compares everything that is printed; then it cuts
// the link and reads again.
func TestKubectlScript(t *testing.T) {
	c := sharedCluster(t)
	cloud := kubeAPI(t, c)
	if got, err := cloud.do(t.Context(), "POST", definitions.path(""), []byte(widgetDefinition)); err != nil || got.status != 201 && got.status != 409 {
		t.Fatal(got.status, err)
	}
	runKubectl(t, c, "", "wait", "--for=condition=Established", "crd/widgets.ex.io")
	letEdgesDoAll(t, c)
	for _, n := range []string{"script-cloud", "script-edges"} { // of one length: kubectl pads columns
		cloud.create(t, nodes, "", node(n))
		cloud.create(t, namespaces, "", fmt.Sprintf(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q}}`, n))
		cloud.create(t, resource{"serviceaccounts", "/api/v1", "serviceaccounts"}, n, `{"kind":"ServiceAccount","apiVersion":"v1","metadata":{"name":"default"}}`)
	}
	s, _ := newKubeSite(t, scriptScopes)
	direct := &scriptSide{t: t, c: c, namespace: "script-cloud", home: t.TempDir()}
	local := &scriptSide{t: t, c: c, namespace: "script-edges", home: t.TempDir(), flags: []string{"--server", s.local.base}}
	for _, step := range scriptWrites {
		if want, got := direct.run(step), local.run(step); got != want {
			t.Errorf("kubectl %s: %s", step.args, firstDifference(got, want))
		}
	}
	online := map[string]string{}
	for _, step := range scriptReads {
		want, got := direct.run(step), local.run(step)
		if online[step.args] = got; got != want {
			t.Errorf("kubectl %s: %s", step.args, firstDifference(got, want))
		}
	}
	s.cut()
	for _, step := range scriptReads {
		if got := withoutWarnings(local.run(step)); got != online[step.args] {
			t.Errorf("with the link cut, kubectl %s: %s", step.args, firstDifference(got, online[step.args]))
		}
	}
	for _, step := range scriptWrites[:1] {
		if got := local.run(step); !strings.HasPrefix(got, "exit 1") || !strings.Contains(got, "has not reached the cloud since") {
			t.Errorf("with the link cut, kubectl %s: %s", step.args, got)
		}
	}
	if _, err := os.Stat(filepath.Join(local.home, ".kube")); err != nil {
		t.Error(err) // the two would share their caches
	}
}

// withoutWarnings removes what an edge says to that it may be behind.
func withoutWarnings(out string) string {
	var kept []string
	for _, line := range strings.Split(out, "\n") {
		if !strings.HasPrefix(line, "Warning: ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
