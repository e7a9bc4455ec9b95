package authority

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func open(t *testing.T, dir string) *Authority {
	t.Helper()
	a, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAnAuthorityIsKeptAndItsKeyIsSecret(t *testing.T) {
	dir := filepath.Join(t.TempDir(), Name)
	a := open(t, dir)
	if b := open(t, dir); !bytes.Equal(a.cert.Raw, b.cert.Raw) {
		t.Error("another one")
	}
	key := filepath.Join(dir, "ca.key")
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Chmod(key, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "others can read it") {
		t.Errorf("a key that others can read: %v", err)
	}
}

func TestBrokenFilesAreSaidAndKept(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "ca.pem") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(filepath.Join(dir, "ca.pem")); err != nil { // what a crash between the two files leaves
		t.Fatal(err)
	}
	open(t, dir)
}

func TestTheServingCertificateIsRenewedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t, t.TempDir())
		s := a.Serving("edge-1", "10.1.2.3")
		first, err := s.Get()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{ServerName, "localhost", "127.0.0.1", "::1", "edge-1", "10.1.2.3"} {
			if _, err := first.Leaf.Verify(x509.VerifyOptions{Roots: a.Pool(), DNSName: name, CurrentTime: time.Now()}); err != nil {
				t.Error(err)
			}
		}
		if again, _ := s.Get(); again != first {
			t.Error("renewed at once")
		}
		time.Sleep(life * 3 / 4)
		if next, err := s.Get(); err != nil || next == first || time.Until(next.Leaf.NotAfter) != life {
			t.Errorf("not renewed: %v", err)
		}
	})
}

func TestTheAuthorityIsReplacedBeforeItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		a := open(t, dir)
		time.Sleep(caLife - life)
		if b := open(t, dir); bytes.Equal(a.cert.Raw, b.cert.Raw) {
			t.Error("it is still the old one")
		}
	})
}

func TestTheKubeconfigIsItsOwnersAlone(t *testing.T) {
	dir := t.TempDir()
	k := &Kubeconfig{Authority: open(t, dir), Path: filepath.Join(dir, "kubeconfig"), URL: "https://127.0.0.1:1", Edge: "edge-1"}
	for range 2 {
		if err := k.Write(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(k.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	k.Path = filepath.Join(dir, "ca.pem", "x")
	if err := k.Write(); err == nil || !strings.Contains(err.Error(), "kubeconfig") {
		t.Errorf("%v", err)
	}
}
