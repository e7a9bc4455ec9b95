package directory

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/cloudhub/enroll"
)

// TestARevocationInAPlaceThatNoHubLooksAtIsAnError: a mistyped directory must not be taken for a register, nor made one.
func TestARevocationInAPlaceThatNoHubLooksAtIsAnError(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "typo")
	if _, err := Open(dir); !errors.Is(err, ErrNone) {
		t.Errorf("opened: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there now: %v", err)
	}
	if _, err := New(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err != nil {
		t.Error(err)
	}
}

// TestWhatRootWritesTheHubCanRead: the register is its user's, and an administrator revokes as root.
func TestWhatRootWritesTheHubCanRead(t *testing.T) {
	dir := t.TempDir()
	r, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	revoked := filepath.Join(dir, "revoked")
	if os.Geteuid() == 0 { // nobody else can give a directory away
		if err := os.Chown(revoked, 1234, 1235); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Revoke(t.Context(), enroll.NewRevocation("edge-1", "", time.Now(), time.Time{})); err != nil {
		t.Fatal(err)
	}
	if have, want := ownerOf(t, filepath.Join(revoked, "edge-1.json")), ownerOf(t, revoked); have != want {
		t.Errorf("it belongs to %v, the directory to %v", have, want)
	}
}

func ownerOf(t *testing.T, path string) [2]uint32 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatalf("no owner of %s", path)
	}
	return [2]uint32{owner.Uid, owner.Gid}
}
