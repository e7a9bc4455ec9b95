//go:build e2e

package cluster_test

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func kubectl(t *testing.T, c *cluster.Cluster, stdin string, args ...string) string {
	t.Helper()
	cmd := c.Kubectl(t.Context(), args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func expectClosed(t *testing.T, url string) {
	t.Helper()
	addr := url[strings.LastIndexByte(url, '/')+1:]
	if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
		conn.Close()
		t.Errorf("something still listens on %s", addr)
	}
}

func TestClusterLife(t *testing.T) {
	ctx := t.Context()
	c := cluster.New(t, cluster.Config{})

	const object = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept", "namespace": "default"}}`
	version := kubectl(t, c, object, "create", "-f", "-", "-o", "jsonpath={.metadata.resourceVersion}")

	t.Run("the same objects are there after a restart and after a crash", func(t *testing.T) {
		if err := c.RestartAPIServer(ctx); err != nil {
			t.Fatal(err)
		}
		if err := c.KillAPIServer(); err != nil {
			t.Fatal(err)
		}
		expectClosed(t, c.URL)
		if err := c.StartAPIServer(ctx); err != nil {
			t.Fatal(err)
		}
		got := kubectl(t, c, "", "get", "configmap", "kept", "-o", "jsonpath={.metadata.resourceVersion}")
		if got != version {
			t.Errorf("resourceVersion after restarts: %s, before: %s", got, version)
		}
	})

	t.Run("a watch from before a compaction is gone after a restart", func(t *testing.T) {
		kubectl(t, c, "", "label", "configmap", "kept", "touched=yes")
		now := kubectl(t, c, "", "get", "configmap", "kept", "-o", "jsonpath={.metadata.resourceVersion}")
		rev, err := strconv.ParseInt(now, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Compact(ctx, rev); err != nil {
			t.Fatal(err)
		}
		if err := c.RestartAPIServer(ctx); err != nil {
			t.Fatal(err)
		}
		path := "/api/v1/configmaps?watch=1&timeoutSeconds=5&resourceVersion=" + version
		out, err := c.Kubectl(ctx, "get", "--raw", path).CombinedOutput()
		if err != nil || !strings.Contains(string(out), `"code":410`) {
			t.Errorf("watch from a compacted revision: %v\n%s", err, out)
		}
	})

	t.Run("stop leaves nothing listening and may be repeated", func(t *testing.T) {
		for range 2 {
			if err := c.Stop(); err != nil {
				t.Fatal(err)
			}
		}
		expectClosed(t, c.URL)
		expectClosed(t, c.EtcdURL)
	})
}

func TestStartFails(t *testing.T) {
	t.Run("with the server's own words when it does not come up", func(t *testing.T) {
		dir := t.TempDir()
		_, err := cluster.Start(t.Context(), cluster.Config{Dir: dir, APIServerArgs: []string{"--no-such-flag"}})
		if err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
			t.Fatalf("error: %v", err)
		}
	})

	t.Run("when the binaries were not built", func(t *testing.T) {
		_, err := cluster.Start(t.Context(), cluster.Config{Dir: t.TempDir(), BinDir: t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), "make kube") {
			t.Fatalf("error: %v", err)
		}
	})

	t.Run("and leaves no process behind", func(t *testing.T) {
		dir := t.TempDir()
		_, err := cluster.Start(t.Context(), cluster.Config{Dir: dir, ReadyTimeout: time.Millisecond})
		if err == nil {
			t.Fatal("a server was ready within a millisecond")
		}
		if left := processesOf(t, dir); len(left) != 0 {
			t.Errorf("still running: %q", left)
		}
	})
}
