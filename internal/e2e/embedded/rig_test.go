//go:build e2e

package embedded_test

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded"
	"github.com/tombolo-sync/tombolo/litesrv"
)

// rig is an embedded cloud served as cloudhub serves it, and a kubectl for it.
type rig struct {
	*testing.T
	cloud   *embedded.Cloud
	url     string
	kubectl string // path of the program
	dir     string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, dir: t.TempDir(), kubectl: filepath.Join(moduleRoot(t), "bin", "e2e", "kubectl")}
	if _, err := os.Stat(r.kubectl); err != nil {
		t.Fatalf("%v: run `make kube`", err)
	}
	cloud, err := embedded.Open(filepath.Join(r.dir, "cloud.db"), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	reads, err := litesrv.New(litesrv.Config{Backend: cloud})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(embedded.NewAPI(cloud, reads))
	t.Cleanup(func() {
		server.CloseClientConnections()
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	r.cloud, r.url = cloud, server.URL
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}],"current-context":"c"}`, r.url)
	if err := os.WriteFile(r.kubeconfig(), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}

func (r *rig) kubeconfig() string { return filepath.Join(r.dir, "kubeconfig") }

// try runs kubectl and returns what it printed to either output.
func (r *rig) try(stdin string, args ...string) (string, error) {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), r.kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.kubeconfig(), "HOME="+r.dir, "KUBE_EDITOR=sed -i s/red/blue/")
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// run is try for a command that has to succeed and to print want, white space at the ends aside.
func (r *rig) run(want, stdin string, args ...string) {
	r.Helper()
	out, err := r.try(stdin, args...)
	if err != nil {
		r.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	if got := strings.TrimSpace(out); got != want {
		r.Errorf("kubectl %s\ngot  %q\nwant %q", strings.Join(args, " "), got, want)
	}
}

// fails is try for a command that has to fail and to say want.
func (r *rig) fails(want, stdin string, args ...string) {
	r.Helper()
	out, err := r.try(stdin, args...)
	if err == nil || !strings.Contains(out, want) {
		r.Errorf("kubectl %s\ngot  %v %q\nwant %q", strings.Join(args, " "), err, out, want)
	}
}
