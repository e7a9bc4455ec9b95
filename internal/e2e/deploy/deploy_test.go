//go:build e2e

// Package deploy_test applies the manifests in deploy/ to a real
// kube-apiserver. Nothing runs what they describe; the server validates it.
package deploy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

const root = "../../.."

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestManifests(t *testing.T) {
	c := cluster.New(t, cluster.Config{})

	for _, dir := range []string{"cloudhub", "edgehub"} {
		t.Run(dir+" is accepted without a warning and may be applied again", func(t *testing.T) {
			manifests := kubectl(t, c, nil, "kustomize", filepath.Join(root, "deploy", dir))
			for range 2 {
				kubectl(t, c, manifests, "apply", "--server-side", "-f", "-")
			}
		})
	}
	t.Run("cloudhub may read what edges need and do nothing else", func(t *testing.T) {
		checkPermissions(t, c)
	})
	t.Run("the example lets edges write what it says", func(t *testing.T) {
		kubectl(t, c, nil, "apply", "--server-side", "-f", filepath.Join(root, "deploy", "cloudhub", "edges.example.yaml"))
		checkEdges(t, c)
	})
	t.Run("flags are ones the binaries have", func(t *testing.T) {
		for workload, namespace := range map[string]string{"deployment/cloudhub": "tombolo-system", "daemonset/edgehub": "tombolo-edge"} {
			_, binary, _ := strings.Cut(workload, "/")
			out := kubectl(t, c, nil, "get", "-n", namespace, workload, "-o", "jsonpath={.spec.template.spec.containers[0].args}")
			var args []string
			if err := json.Unmarshal(out, &args); err != nil {
				t.Fatalf("%s: %v in %s", workload, err, out)
			}
			checkFlags(t, binary, args)
		}
	})
}

func TestSystemdUnitFlags(t *testing.T) {
	unit, err := os.ReadFile(filepath.Join(root, "deploy", "systemd", "edgehub.service"))
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/edgehub ((?:.*\\\n)*.*)$`).FindSubmatch(unit)
	if command == nil {
		t.Fatal("no ExecStart of edgehub in the unit")
	}
	checkFlags(t, "edgehub", strings.Fields(strings.ReplaceAll(string(command[1]), "\\\n", " ")))
}

func checkPermissions(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	const cloudhub = "system:serviceaccount:tombolo-system:cloudhub"
	const edgehub = "system:serviceaccount:tombolo-edge:edgehub"
	ask := func(want, user string, question ...string) {
		t.Helper()
		args := append([]string{"auth", "can-i", "--all-namespaces", "--as=" + user}, question...)
		// The answer "no" is also an exit status: only the word counts.
		out, _ := c.Kubectl(t.Context(), args...).Output()
		if got := strings.TrimSpace(string(out)); got != want {
			t.Errorf("may %s %s: %q, want %q", user, strings.Join(question, " "), got, want)
		}
	}
	for _, resource := range []string{
		"configmaps", "namespaces", "nodes", "pods", "secrets", "services",
		"endpointslices.discovery.k8s.io", "leases.coordination.k8s.io",
		"roles.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io",
		"customresourcedefinitions.apiextensions.k8s.io", "apiservices.apiregistration.k8s.io",
	} {
		ask("yes", cloudhub, "list", resource)
		ask("yes", cloudhub, "watch", resource)
		ask("no", cloudhub, "create", resource)
	}
	for _, path := range []string{"/api", "/apis/apps/v1", "/openapi/v3", "/version", "/openid/v1/jwks", "/.well-known/openid-configuration"} {
		ask("yes", cloudhub, "get", path)
	}
	ask("no", cloudhub, "get", "/metrics")
	ask("yes", cloudhub, "impersonate", "users/tombolo:edge:site-1")
	ask("yes", cloudhub, "impersonate", "groups/tombolo:edges")
	ask("yes", cloudhub, "impersonate", "groups/system:authenticated")
	ask("no", cloudhub, "impersonate", "groups/system:masters")
	ask("no", cloudhub, "impersonate", "serviceaccounts")
	ask("no", edgehub, "list", "pods")
	// Its register of tokens and revocations is in its own namespace, and nowhere else.
	for namespace, want := range map[string]string{"tombolo-system": "yes", "default": "no"} {
		out, _ := c.Kubectl(t.Context(), "auth", "can-i", "--as="+cloudhub, "-n", namespace, "update", "secrets").Output() // "no" is a status, too
		if got := strings.TrimSpace(string(out)); got != want {
			t.Errorf("may the hub update secrets in %s: %q", namespace, got)
		}
	}
}

func checkEdges(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for question, want := range map[string]string{
		"create events": "yes", "update leases.coordination.k8s.io": "yes", "create pods": "no", "list secrets": "no",
	} {
		args := append([]string{"auth", "can-i", "--as=tombolo:edge:site-1", "--as-group=tombolo:edges"}, strings.Fields(question)...)
		out, _ := c.Kubectl(t.Context(), args...).Output() // "no" is also an exit status
		if got := strings.TrimSpace(string(out)); got != want {
			t.Errorf("may an edge %s: %q, want %q", question, got, want)
		}
	}
}

// checkFlags reports the flags in args that the binary's run command doesn't
// list in its help.
func checkFlags(t *testing.T, binary string, args []string) {
	t.Helper()
	path := filepath.Join(root, "bin", binary)
	help, err := exec.CommandContext(t.Context(), path, "run", "--help").CombinedOutput()
	if err != nil {
		t.Fatalf("%s run --help: %v (run `make build`)\n%s", path, err, help)
	}
	known := make(map[string]bool)
	for _, flag := range regexp.MustCompile(`--[a-z][a-z-]*`).FindAllString(string(help), -1) {
		known[flag] = true
	}
	if len(args) < 2 || args[0] != "run" {
		t.Fatalf("%s is started with %q, want run and flags", binary, args)
	}
	for _, arg := range args[1:] {
		if flag, _, _ := strings.Cut(arg, "="); !known[flag] {
			t.Errorf("%s run has no flag %s", binary, flag)
		}
	}
}

// kubectl returns what the command prints. Warnings fail the test as errors do.
func kubectl(t *testing.T, c *cluster.Cluster, stdin []byte, args ...string) []byte {
	t.Helper()
	cmd := c.Kubectl(t.Context(), args...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() != 0 {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}
