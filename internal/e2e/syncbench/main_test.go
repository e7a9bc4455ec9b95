//go:build e2e

package syncbench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

// binaries is the directory of cloudhub.
var binaries string

func TestMain(m *testing.M) {
	clean, err := build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(printer{m}, goleak.Cleanup(func(code int) {
		clean()
		os.Exit(code)
	}))
}

// printer writes the table once the tests have run.
type printer struct{ *testing.M }

func (m printer) Run() int {
	code := m.M.Run()
	figures.print(os.Stdout)
	return code
}

// build compiles what is measured, so that no stale binary is.
func build() (clean func(), err error) {
	if binaries = os.Getenv("TOMBOLO_E2E_BIN"); binaries != "" {
		return func() {}, nil
	}
	binaries, err = os.MkdirTemp("", "tombolo-bench-")
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("go", "build", "-tags", "grpcnotrace", "-o", binaries+string(filepath.Separator), "../../../cmd/cloudhub").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return func() { _ = os.RemoveAll(binaries) }, nil
}

// size is how much is measured.
type size struct {
	edges   int
	objects int // of a resource that is caught up with
	changes int // measured one by one
	events  int // of which the costs are compared
	idle    int // seconds of an idle link
}

// quick is what the test suite does; full is make bench-sync.
var (
	quick = size{edges: 200, objects: 500, changes: 10, events: 300, idle: 6}
	full  = size{objects: 5000, changes: 30, events: 3000, idle: 60}
)

// measured returns the size that is asked for.
func measured(t testing.TB) size {
	t.Helper()
	text := os.Getenv("TOMBOLO_BENCH_EDGES")
	if text == "" {
		return quick
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 10 {
		t.Fatalf("TOMBOLO_BENCH_EDGES=%s: a number from 10 on is needed", text)
	}
	s := full
	s.edges = n
	return s
}
