package kinds

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// fixtures returns the directory in which k8s.io/api keeps an object of each kind, with every field set, in all
// encodings.
func fixtures(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "testdata", "HEAD")
}

// fixture returns the object of a kind in JSON and as protobuf message.
func fixture(t testing.TB, dir string, n name) (raw, message []byte) {
	t.Helper()
	group, version, ok := strings.Cut(n.apiVersion, "/")
	if !ok {
		group, version = "core", n.apiVersion
	}
	path := filepath.Join(dir, group+"."+version+"."+n.kind)
	raw, err := os.ReadFile(path + ".json")
	if err != nil {
		t.Fatal(err)
	}
	enveloped, err := os.ReadFile(path + ".pb")
	if err != nil {
		t.Fatal(err)
	}
	var u runtime.Unknown
	if err := u.Unmarshal(enveloped[len("k8s\x00"):]); err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		t.Fatal(err)
	}
	return compact.Bytes(), u.Raw
}

// TestFixtures compares every kind of the table with the encoding of k8s.io/api, every field set.
func TestFixtures(t *testing.T) {
	dir := fixtures(t)
	for n := range table {
		raw, want := fixture(t, dir, n)
		got, err := Encode(n.apiVersion, n.kind, raw)
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%v:\n got %q\nwant %q", n, got, want)
		}
	}
}
