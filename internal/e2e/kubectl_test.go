//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

// randSource is what makes a load's bodies differ.
type randSource = rand.Rand

var dialer net.Dialer

// tryKubectl runs kubectl as the admin and returns what it printed.
func tryKubectl(t *testing.T, c *cluster.Cluster, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := c.Kubectl(t.Context(), args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	if err != nil {
		return out.String() + stderr.String(), err
	}
	return out.String(), nil
}

// runKubectl runs kubectl, which has to succeed.
func runKubectl(t *testing.T, c *cluster.Cluster, stdin string, args ...string) string {
	t.Helper()
	out, err := tryKubectl(t, c, stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// kubectlWatch is a kubectl that runs until the test ends.
type kubectlWatch struct {
	mu  sync.Mutex
	out bytes.Buffer // guarded by mu
}

func startKubectl(t *testing.T, c *cluster.Cluster, args ...string) *kubectlWatch {
	t.Helper()
	k := &kubectlWatch{}
	cmd := c.Kubectl(t.Context(), args...)
	cmd.Stdout, cmd.Stderr = k, k
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { endKubectl(cmd) })
	return k
}

func endKubectl(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// Write collects what kubectl prints.
func (k *kubectlWatch) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.out.Write(p)
}

func (k *kubectlWatch) output() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.out.String()
}

// tail is the end of what was printed.
func (k *kubectlWatch) tail() string {
	out := k.output()
	return out[max(0, len(out)-500):]
}

// from is what was printed since the last event about the object named.
func (k *kubectlWatch) from(quoted string) string {
	out := k.output()
	i := strings.LastIndex(out, quoted)
	if i < 0 {
		return ""
	}
	return out[i:]
}

// firstDifference shows where two texts part.
func firstDifference(got, want string) string {
	const before, after = 100, 400
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	from := max(0, i-before)
	return fmt.Sprintf("at byte %d\n  got  …%.*s\n  want …%.*s", i, before+after, got[from:], before+after, want[from:])
}
