package run

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASocketIsForOneUserAndReplacesADeadOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for range 2 { // closing leaves it behind
		lis, err := ListenSocket(t.Context(), "--x", path)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		if _, err := ListenSocket(t.Context(), "--x", path); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("one in use: %v", err)
		}
		_ = lis.Close()
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenSocket(t.Context(), "--x", file); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("over a file: %v", err)
	}
}
