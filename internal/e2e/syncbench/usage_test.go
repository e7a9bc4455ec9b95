//go:build e2e

package syncbench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tick is the unit of /proc/PID/stat: USER_HZ is 100 on all platforms that Linux runs Go on.
const tick = 10 * time.Millisecond

// cpu returns the processor time that a process has used.
func cpu(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// The name, in parentheses, may have spaces. utime and stime are the 14th and 15th field.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var total time.Duration
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += time.Duration(n) * tick
	}
	return total
}

// resident returns how much memory a process holds, in bytes.
func resident(t testing.TB, pid int) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			n, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			return n * 1024
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// needFiles fails when the process may not open as many files as the fleet has edges.
func needFiles(t testing.TB, edges int) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if need := uint64(edges + 200); limit.Cur < need {
		t.Fatalf("%d edges need ulimit -n of at least %d, it is %d: raise it, or set EDGES", edges, need, limit.Cur)
	}
}
