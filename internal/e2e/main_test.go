//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// binaries is the directory of cloudhub, edgehub and tombolo.
var binaries string

// detector makes client-go's reflectors compare every state they got from a WatchList with an exact
// LIST, and panic on a difference. It is read when the process starts.
const detector = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR"

func TestMain(m *testing.M) {
	if os.Getenv(detector) == "" {
		if err := os.Setenv(detector, "true"); err != nil {
			fail(err)
		}
		fail(syscall.Exec(os.Args[0], os.Args, os.Environ()))
	}
	clean, err := build()
	if err != nil {
		fail(err)
	}
	goleak.VerifyTestMain(tests{m}, goleak.Cleanup(func(code int) {
		clean()
		os.Exit(code)
	}), goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// tests stops what the tests share before leaks are looked for.
type tests struct{ *testing.M }

func (m tests) Run() int {
	defer stopCluster()
	return m.M.Run()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// build compiles what is tested, so that no stale binary is.
func build() (clean func(), err error) {
	if binaries = os.Getenv("TOMBOLO_E2E_BIN"); binaries != "" {
		return func() {}, nil
	}
	binaries, err = os.MkdirTemp("", "tombolo-e2e-")
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("go", "build", "-o", binaries+string(filepath.Separator), "../../cmd/cloudhub", "../../cmd/edgehub", "../../cmd/tombolo").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return func() { _ = os.RemoveAll(binaries) }, nil
}
