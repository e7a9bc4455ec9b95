package inproc

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestDamagedFileIsSetAsideAndSyncedAgain: an edge whose file was damaged or cut short while it was down keeps it, begins
// anew, comes to what the cloud has, and starts in order the next time.
func TestDamagedFileIsSetAsideAndSyncedAgain(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"overwritten": func(file []byte) []byte {
			return append(bytes.Repeat([]byte{0xa5}, len(file)/2), file[len(file)/2:]...)
		},
		"cut short": func(file []byte) []byte { return file[:len(file)/3] },
		"no file":   func([]byte) []byte { return []byte("hello") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newFakeCloud(t)
			for _, pod := range []string{"a", "b", "c"} {
				c.put(pod, "u-"+pod, noise(2000))
			}
			src := c.source()
			src.load()
			hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
			dir := t.TempDir()
			e := startEdge(t, dir, hub)
			e.holds(c)
			e.stop()
			before, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil {
				t.Fatal(err)
			}
			path := largest(t, before)
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			damaged := damage(file)
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				e = startEdge(t, dir, hub)
				e.waitFor(c.put("d", "u-d", "n"))
				e.holds(c)
				e.stop()
			}
			after, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil {
				t.Fatal(err)
			}
			kept := 0
			for _, f := range after {
				if raw, err := os.ReadFile(f); err == nil && bytes.Equal(raw, damaged) {
					kept++
				}
			}
			if kept != 1 || len(after) != len(before)+1 {
				t.Errorf("%d files are what was damaged, of %v", kept, after)
			}
		})
	}
}

func largest(t *testing.T, paths []string) (path string) {
	t.Helper()
	size := int64(-1)
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > size {
			path, size = p, info.Size()
		}
	}
	return path
}
