//go:build e2e

package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecretsAtRest: an edge that has had its Secrets in the clear is given a key; they are nowhere in its directory after that, also
// while it writes and after it was killed, and it does not start without the key.
func TestSecretsAtRest(t *testing.T) {
	const secret = "a-secret-that-nobody-may-find"
	s := newSite(t, hubConfig{})
	encoded := base64.StdEncoding.EncodeToString([]byte(secret))
	write := func(name string) {
		s.cloud.create(t, secrets, "default", fmt.Sprintf(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":%q},"data":{"a":%q}}`, name, encoded))
		eventually(t, func() error {
			got, err := s.local.do(t.Context(), "GET", secrets.object("default/"+name), nil)
			if err == nil && got.status != 200 {
				err = fmt.Errorf("%d", got.status)
			}
			return err
		})
	}
	found := func() (n int) {
		raw, err := os.ReadFile(filepath.Join(s.edge.dir, "edge.db"))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(raw, []byte(encoded))
	}
	write("before")
	s.cloud.remove(t, secrets, "default/before")
	write("again")
	if found() == 0 {
		t.Fatal("it is not there in the clear either")
	}
	s.edge.stop()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, bytes.Repeat([]byte{7}, 32), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := s.edge.args
	s.edge.args = append(plain[:len(plain):len(plain)], "--encryption-key-file", key)
	s.edge.start()
	if n := found(); n > 0 {
		t.Errorf("%d times in the file after the start", n)
	}
	write("after")
	s.edge.kill()
	if n := found(); n > 0 {
		t.Errorf("%d times in the file after a crash", n)
	}
	if out, err := exec.Command(s.edge.binary, "check", "--data-dir", s.edge.dir, "--encryption-key-file", key).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := exec.Command(s.edge.binary, plain...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "encrypted with a key that was not given") || strings.Count(string(out), "\n") > 2 {
		t.Errorf("without the key: %v\n%s", err, out)
	}
	s.edge.start()
	for _, name := range []string{"again", "after"} {
		if got := s.local.get(t, secrets.object("default/"+name)); !bytes.Contains(got.body, []byte(encoded)) {
			t.Errorf("%s", got.body)
		}
	}
}
