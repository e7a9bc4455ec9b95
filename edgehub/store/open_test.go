package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// tamper changes the data file in dir behind the store's back.
func tamper(t testing.TB, dir string, fn func(tx *bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, FileName), 0o600, &bbolt.Options{Timeout: time.Second, NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(fn), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// flip changes one byte of the file.
func flip(t testing.TB, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	_, err = f.ReadAt(b[:], at)
	if err == nil {
		b[0] ^= 0x40
		_, err = f.WriteAt(b[:], at)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// filled returns a directory with the file of an edge that holds a few of everything.
func filled(t testing.TB) string {
	t.Helper()
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 3000), pod(t, "b", "u2", 6, 10)}, 10))
	e.live(put(pod(t, "a", "u1", 11, 3000)), put(pod(t, "c", "u3", 12, 10)), del("ns/b", 13))
	e.commit(e.log.Snapshot().PlanCatchup([]watchlog.Op{put(pod(t, "d", "u4", 20, 10))}, 30))
	e.stage(40, put(pod(t, "e", "u5", 35, 10)), del("ns/c", 0))
	update(t, e.store, func(tx *Tx) error { return tx.SetInfo("hub", "h1") })
	if err := e.store.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	copyFile(t, filepath.Join(e.dir, FileName), filepath.Join(dir, FileName))
	return dir
}

// killed makes the file in dir look like one whose process was killed.
func killed(t testing.TB, dir string) {
	t.Helper()
	tamper(t, dir, func(tx *bbolt.Tx) error { return setClean(tx, false) })
}

func TestOpenCreatesPrivateFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir, Options{})
	if s.Recovered() != nil {
		t.Fatal(s.Recovered())
	}
	for path, want := range map[string]os.FileMode{
		dir: 0o700 | os.ModeDir, filepath.Join(dir, FileName): 0o600, filepath.Join(dir, lockName): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
	}
}

func TestOpenInitialisesWhatACrashLeftUnfinished(t *testing.T) {
	dir := t.TempDir()
	crash := errors.New("crash")
	_, err := tryOpen(t, dir, Options{Failpoint: func(step string) error {
		if step == StepCreate {
			return crash
		}
		return nil
	}})
	if !errors.Is(err, crash) {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, FileName+".new"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := open(t, dir, Options{}); s.Recovered() != nil {
		t.Fatal(s.Recovered())
	}
}

func TestASecondStoreIsLockedOut(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	for name, try := range map[string]func() error{
		"open":  func() error { _, err := tryOpen(t, dir, Options{LockTimeout: time.Millisecond}); return err },
		"dump":  func() error { return Dump(dir, os.Stderr, DumpOptions{}) },
		"check": func() error { _, err := Check(dir); return err },
	} {
		err := try()
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), filepath.Join(dir, FileName)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, Options{})
}

func TestANewerFormatIsNotTouched(t *testing.T) {
	dir := filled(t)
	path := filepath.Join(dir, FileName)
	tamper(t, dir, func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketStore).Put(keyFormat, seal(keyFormat, binary.BigEndian.AppendUint32(nil, format+1)))
	})
	killed(t, dir)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{Logger: silent}); !errors.Is(err, ErrNewerFormat) {
		t.Fatal(err)
	}
	if _, err := Check(dir); !errors.Is(err, ErrNewerFormat) {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) || len(asideFiles(t, dir)) != 0 {
		t.Fatal("the file was touched")
	}
}

func TestACorruptFileIsSetAside(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, dir, path string){
		"empty":     func(t *testing.T, _, path string) { truncate(t, path, 0) },
		"cut short": func(t *testing.T, _, path string) { truncate(t, path, 9000) },
		"not a database": func(t *testing.T, _, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("no", 50_000)), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"another database": func(t *testing.T, dir, _ string) {
			tamper(t, dir, func(tx *bbolt.Tx) error { return tx.DeleteBucket(bucketStore) })
		},
		"no format": func(t *testing.T, dir, _ string) {
			tamper(t, dir, func(tx *bbolt.Tx) error { return tx.Bucket(bucketStore).Delete(keyFormat) })
		},
		"a format that is no number": func(t *testing.T, dir, _ string) {
			tamper(t, dir, func(tx *bbolt.Tx) error { return tx.Bucket(bucketStore).Put(keyFormat, seal(keyFormat, nil)) })
		},
		"a bucket missing": func(t *testing.T, dir, _ string) {
			tamper(t, dir, func(tx *bbolt.Tx) error { return tx.DeleteBucket(bucketInfo) })
		},
		"a page of nonsense": func(t *testing.T, _, path string) {
			flip(t, path, int64(rootPage(t, path))*int64(os.Getpagesize())+8)
		},
		"killed, and a body is wrong": func(t *testing.T, dir, _ string) {
			killed(t, dir)
			tamper(t, dir, func(tx *bbolt.Tx) error {
				return tx.Bucket(bucketResources).Bucket([]byte("pods")).Bucket(bucketBodies).Put(number(1), []byte("12345{}"))
			})
		},
		"killed, and a position is missing": func(t *testing.T, dir, _ string) {
			killed(t, dir)
			tamper(t, dir, func(tx *bbolt.Tx) error {
				return tx.Bucket(bucketResources).Bucket([]byte("pods")).Bucket(bucketMeta).Delete(keyProgress)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			damage(t, dir, filepath.Join(dir, FileName))
			logger, said := logTo()
			s := open(t, dir, Options{Logger: logger})
			if !errors.Is(s.Recovered(), ErrCorrupt) {
				t.Fatalf("recovered: %v", s.Recovered())
			}
			aside := asideFiles(t, dir)
			if len(aside) != 1 || !strings.Contains(s.Recovered().Error(), aside[0]) {
				t.Fatalf("%q, recovered: %v", aside, s.Recovered())
			}
			if !strings.Contains(said.String(), "level=ERROR") || !strings.Contains(said.String(), aside[0]) {
				t.Fatalf("logged: %s", said)
			}
			if all, err := s.Resources(); err != nil || len(all) != 0 {
				t.Fatal(all, err)
			}
			describe(t, s, pods)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s = open(t, dir, Options{}); s.Recovered() != nil {
				t.Fatalf("the second time: %v", s.Recovered())
			}
		})
	}
}

func TestAFileThatCannotBeSetAsideStays(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	if err := os.WriteFile(path, []byte("damage"), 0o600); err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	if _, err := Open(dir, Options{Logger: silent, Failpoint: failing(map[string]error{StepSetAside: no})}); !errors.Is(err, no) {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "damage" {
		t.Fatalf("%q, %v", b, err)
	}
	if s := open(t, dir, Options{}); !errors.Is(s.Recovered(), ErrCorrupt) {
		t.Fatal(s.Recovered())
	}
}

func truncate(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

// rootPage returns the page of the root bucket.
func rootPage(t *testing.T, path string) (id uint64) {
	t.Helper()
	err := readFile(path, atOnce(nil), func(tx *bbolt.Tx) error { id = uint64(tx.Cursor().Bucket().Root()); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestOnlyTheNewestFilesSetAsideAreKept(t *testing.T) {
	dir := t.TempDir()
	var last string
	for i := range 4 {
		if err := os.WriteFile(filepath.Join(dir, FileName), fmt.Appendf(nil, "damage %d", i), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, Options{})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		names := asideFiles(t, dir)
		if len(names) > keepAside || names[len(names)-1] == last {
			t.Fatalf("%q", names)
		}
		last = names[len(names)-1]
	}
	b, err := os.ReadFile(last)
	if err != nil || string(b) != "damage 3" {
		t.Fatalf("%q %v", b, err)
	}
}

// What is wrong with the machine must not cost the data; what is wrong with the disk under it must not stop the edge.
func TestAFileThatCannotBeOpened(t *testing.T) {
	for _, c := range []struct {
		err     error
		corrupt bool
	}{{syscall.EACCES, false}, {syscall.EMFILE, false}, {syscall.EIO, true}} {
		dir := filled(t)
		path, failed := filepath.Join(dir, FileName), false
		s, err := tryOpen(t, dir, Options{openFile: func(name string, flag int, perm os.FileMode) (*os.File, error) {
			if name == path && !failed {
				failed = true
				return nil, &os.PathError{Op: "open", Path: name, Err: c.err}
			}
			return os.OpenFile(name, flag, perm)
		}})
		if c.corrupt != (err == nil) || c.corrupt != (len(asideFiles(t, dir)) == 1) {
			t.Fatalf("%v: %v, %q", c.err, err, asideFiles(t, dir))
		}
		if c.corrupt && !errors.Is(s.Recovered(), c.err) || !c.corrupt && !errors.Is(err, c.err) {
			t.Fatalf("%v: %v", c.err, err)
		}
	}
}

func TestOnlyAnUncleanFileIsProbed(t *testing.T) {
	dir := filled(t)
	var probed []string
	var answer error
	o := Options{Probe: func(path string) error { probed = append(probed, path); return answer }}
	reopen := func() error {
		t.Helper()
		s := open(t, dir, o)
		defer s.Close() //nolint:errcheck // checked by open
		return s.Recovered()
	}
	if err := reopen(); err != nil || len(probed) != 0 {
		t.Fatalf("clean: %v, %q", err, probed)
	}
	killed(t, dir)
	if err := reopen(); err != nil || len(probed) != 1 || probed[0] != filepath.Join(dir, FileName) {
		t.Fatalf("killed: %v, %q", err, probed)
	}
	if err := reopen(); err != nil || len(probed) != 1 {
		t.Fatalf("clean again: %v, %q", err, probed)
	}
	killed(t, dir)
	answer = errors.New("no such program")
	if err := reopen(); err != nil || len(probed) != 2 {
		t.Fatalf("a probe that can't be made: %v, %q", err, probed)
	}
	killed(t, dir)
	answer = fmt.Errorf("%w: said the child", ErrCorrupt)
	if err := reopen(); !errors.Is(err, ErrCorrupt) || len(probed) != 3 {
		t.Fatalf("condemned: %v, %q", err, probed)
	}
}

// A probe runs Check on the very file, in another process.
func TestTheProbeCanReadTheFile(t *testing.T) {
	dir := filled(t)
	killed(t, dir)
	probe := func(path string) error {
		r, err := Check(filepath.Dir(path))
		if err != nil {
			return err
		}
		if r.Clean || len(r.Resources) != 1 {
			t.Errorf("%+v", r)
		}
		return r.Err()
	}
	logger, said := logTo()
	if s := open(t, dir, Options{Probe: probe, Logger: logger}); s.Recovered() != nil || said.Len() > 0 {
		t.Fatal(s.Recovered(), said)
	}
}

// Damage that only Load meets leads to a fresh file at the next Open, not to a loop.
func TestDamageThatLoadMeetsIsRecoveredByTheNextOpen(t *testing.T) {
	dir := filled(t)
	tamper(t, dir, func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketResources).Bucket([]byte("pods")).Bucket(bucketBodies).Put(number(1), []byte("12345{}"))
	})
	s, err := Open(dir, Options{Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(podsGR, watchlog.NewDecoder(pods)); !errors.Is(err, ErrCorrupt) {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s := open(t, dir, Options{}); !errors.Is(s.Recovered(), ErrCorrupt) {
		t.Fatal(s.Recovered())
	}
}
