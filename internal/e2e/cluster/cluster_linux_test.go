//go:build e2e

package cluster_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

// TestServersDieWithTheTest runs itself as the test that gets killed. Only Linux ends children with their parent.
func TestServersDieWithTheTest(t *testing.T) {
	const dirVar = "TOMBOLO_CLUSTER_TEST_DIR"
	if dir := os.Getenv(dirVar); dir != "" {
		if _, err := cluster.Start(t.Context(), cluster.Config{Dir: dir}); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	victim := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestServersDieWithTheTest$")
	victim.Env = append(os.Environ(), dirVar+"="+dir)
	out, err := victim.CombinedOutput()
	if err == nil || err.Error() != "signal: killed" {
		t.Fatalf("the victim was not killed: %v\n%s", err, out)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left := processesOf(t, dir)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still running: %q", left)
		}
	}
}

// processesOf lists the command lines of processes that mention dir.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		// A process that ended meanwhile has no command line to read.
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), dir) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
