package credentials

import (
	"context"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/pki"
)

func TestJoinKeepsWhatItGotForTheOwnerAlone(t *testing.T) {
	h := newFakeHub(t)
	f := Folder{Dir: filepath.Join(t.TempDir(), "data", Name)}
	if _, err := Open(f); !errors.Is(err, ErrNone) {
		t.Errorf("before: %v", err)
	}
	if id := h.mustJoin(f); id.Edge() != "edge-1" {
		t.Errorf("joined as %q", id.Edge())
	}
	if hubs, err := f.Hubs(); err != nil || !slices.Equal(hubs, []string{h.addr}) {
		t.Errorf("hubs %v %v", hubs, err)
	}
	err := filepath.WalkDir(f.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if id, err := Open(f); err != nil || id.Edge() != "edge-1" {
		t.Errorf("opened again: %v", err)
	}
}

func TestALostAnswerIsAskedForWithTheSameKey(t *testing.T) {
	h := newFakeHub(t)
	h.set(func() { h.lose = 1 })
	f := Folder{Dir: t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Join(ctx, JoinConfig{Hubs: []string{h.addr}, Token: "id.secret", Pins: []pki.Pin{pki.PinOf(h.ca)}, Folder: f}); err == nil {
		t.Fatal("the answer came all the same")
	}
	h.mustJoin(f)
	h.mustJoin(f) // and once more, although all is well
	if len(h.keys) != 3 || !samePublic(h.keys[0], h.keys[1]) || !samePublic(h.keys[1], h.keys[2]) {
		t.Errorf("%d requests, not all for one key", len(h.keys))
	}
}

func TestAHubOfAnotherAuthorityIsNotGivenTheToken(t *testing.T) {
	h, other := newFakeHub(t), newFakeHub(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, cfg := range map[string]JoinConfig{
		"by hash": {Pins: []pki.Pin{pki.PinOf(other.ca)}}, "by file": {Authorities: []*x509.Certificate{other.ca}},
	} {
		cfg.Hubs, cfg.Token, cfg.Folder = []string{h.addr}, "id.secret", Folder{Dir: t.TempDir()}
		if _, err := Join(ctx, cfg); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(h.keys) > 0 {
		t.Error("it was asked for a certificate")
	}
	cfg := JoinConfig{Hubs: []string{h.addr}, Token: "id.secret", Folder: Folder{Dir: t.TempDir()}, Authorities: []*x509.Certificate{h.ca}}
	if _, err := Join(ctx, cfg); err != nil || h.pinned {
		t.Errorf("by the right file: %v; the authorities were asked for: %v", err, h.pinned)
	}
}

func TestFilesThatDoNotBelongTogether(t *testing.T) {
	h := newFakeHub(t)
	for name, spoil := range map[string]func(f Folder) error{
		"no key":         func(f Folder) error { return os.RemoveAll(filepath.Join(f.Dir, "keys")) },
		"no authorities": func(f Folder) error { return os.Remove(f.path("ca.pem")) },
		"half a file":    func(f Folder) error { return os.Truncate(f.path("cert.pem"), 100) },
		"another edge's key": func(f Folder) error {
			keys, err := filepath.Glob(filepath.Join(f.Dir, "keys", "*.pem"))
			if err != nil {
				return err
			}
			other := FileKeys{Dir: t.TempDir()}
			if _, err := other.New(); err != nil {
				return err
			}
			theirs, err := filepath.Glob(filepath.Join(other.Dir, "*.pem"))
			if err != nil {
				return err
			}
			return os.Rename(theirs[0], keys[0])
		},
	} {
		f := Folder{Dir: t.TempDir()}
		h.mustJoin(f)
		if err := spoil(f); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(f); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
