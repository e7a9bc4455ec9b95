package store

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// canary is in every version of every object that these tests write, and in the cells of some.
const canary = "canary-4711"

func keys(t testing.TB, seeds ...byte) *Keys {
	t.Helper()
	var raw [][]byte
	for _, s := range seeds {
		raw = append(raw, bytes.Repeat([]byte{s}, keySize))
	}
	k, err := newKeys(raw...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func canaryPod(t testing.TB, name string, rev uint64) *watchlog.Object {
	t.Helper()
	o, err := watchlog.NewDecoder(pods).DecodeRow(
		bytes.ReplaceAll(podJSON(name, "u-"+name, rev, 3000), []byte("xxxxxxxxxxxxxxxx"), []byte("x"+canary+"xxxx")), []byte(`["`+canary+`"]`))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// canaries fills a store: live objects, history, what was deleted, a catch-up under way.
func canaries(t testing.TB, s *Store, from uint64) {
	t.Helper()
	describe(t, s, pods)
	c := load(t, s)
	l := watchlog.New(pods, watchlog.Config{})
	if c.Rev != 0 {
		if err := l.Load(c.Content); err != nil {
			t.Fatal(err)
		}
	}
	for rev := from; rev < from+60; rev++ {
		op := put(canaryPod(t, "p"+string(rune('a'+rev%7)), rev))
		if rev%10 == 0 {
			op = del(op.Key, rev)
		}
		b := l.Snapshot().Plan([]watchlog.Op{op}, rev)
		apply(t, s, b)
		if err := l.Commit(b); err != nil {
			t.Fatal(err)
		}
	}
	update(t, s, func(tx *Tx) error {
		return tx.Stage(podsGR, []watchlog.Op{put(canaryPod(t, "staged", from+100))}, from+100)
	})
}

// leaks returns how often the canary is anywhere in the directory.
func leaks(t testing.TB, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		n += bytes.Count(raw, []byte(canary))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func closed(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// content describes all that is stored, to compare.
func content(t testing.TB, s *Store) string {
	t.Helper()
	var b strings.Builder
	c := load(t, s)
	for _, o := range c.Objects {
		b.Write(o.JSON())
		b.Write(o.Cells())
	}
	for _, e := range c.History {
		b.WriteString(e.Type.String())
		b.Write(e.Object.JSON())
	}
	for _, op := range c.Staged {
		b.Write(op.Object.JSON())
	}
	return b.String()
}

// TestNothingIsLeftInTheFileWhenEncryptionIsTurnedOn looks for the text in live and free pages, and in what was set aside.
func TestNothingIsLeftInTheFileWhenEncryptionIsTurnedOn(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{Logger: silent, Window: watchlog.Config{MaxEvents: 20}})
	if err != nil {
		t.Fatal(err)
	}
	canaries(t, s, 1)
	want := content(t, s)
	closed(t, s)
	if err := os.WriteFile(filepath.Join(dir, FileName+asideInfix+"x"), []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	if leaks(t, dir) < 100 {
		t.Fatal("the canary is not there")
	}
	o := Options{Keys: keys(t, 1), Encryption: EncryptAll, Window: watchlog.Config{MaxEvents: 20}}
	s = open(t, dir, o)
	if n := leaks(t, dir); n > 0 {
		t.Errorf("%d canaries after the file was opened", n)
	}
	if content(t, s) != want {
		t.Error("the content is another")
	}
	canaries(t, s, 200)
	if n := leaks(t, dir); n > 0 {
		t.Errorf("%d canaries after writes", n)
	}
	want = content(t, s)
	closed(t, s)
	checkWith(t, dir, o.Keys)
	s = open(t, dir, o)
	if content(t, s) != want || s.Recovered() != nil {
		t.Errorf("the content is another: %v", s.Recovered())
	}
}

func TestAnEncryptedFileIsLeftAloneWithoutItsKey(t *testing.T) {
	dir := t.TempDir()
	o := Options{Keys: keys(t, 1), Encryption: EncryptAll}
	s, err := Open(dir, Options{Keys: o.Keys, Encryption: o.Encryption, Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	canaries(t, s, 1)
	closed(t, s)
	before, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"no key": {}, "another key": {Keys: keys(t, 2), Encryption: EncryptAll}, "another key to turn it off": {Keys: keys(t, 3)},
	} {
		o.Logger = silent
		if _, err := Open(dir, o); !errors.Is(err, ErrNoKey) || errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := CheckEncrypted(dir, o.Keys); !errors.Is(err, ErrNoKey) {
			t.Errorf("%s: check: %v", name, err)
		}
		if err := Dump(dir, &bytes.Buffer{}, DumpOptions{Objects: true, Keys: o.Keys}); !errors.Is(err, ErrNoKey) {
			t.Errorf("%s: dump: %v", name, err)
		}
	}
	after, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was touched: %v", err)
	}
	var out bytes.Buffer
	if err := Dump(dir, &out, DumpOptions{Objects: true, JSON: true, Keys: o.Keys}); err != nil || !strings.Contains(out.String(), canary) {
		t.Errorf("with its key: %v", err)
	}
}

// TestKeysAreExchanged: with the old key behind the new one everything is written with the new one, and the old one can go;
// at last all of it is turned off.
func TestKeysAreExchanged(t *testing.T) {
	dir := t.TempDir()
	var want string
	for i, o := range []Options{
		{}, {Keys: keys(t, 1), Encryption: EncryptAll}, {Keys: keys(t, 2, 1), Encryption: EncryptAll}, {Keys: keys(t, 2), Encryption: EncryptAll},
		{Keys: keys(t, 2)}, {},
	} {
		o.Logger = silent
		s, err := Open(dir, o)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if i == 0 {
			canaries(t, s, 1)
			want = content(t, s)
		}
		if content(t, s) != want || s.Recovered() != nil {
			t.Fatalf("%d: the content is another: %v", i, s.Recovered())
		}
		update(t, s, func(tx *Tx) error { return tx.SetInfo("a", "b") })
		closed(t, s)
		checkWith(t, dir, o.Keys)
		if n := leaks(t, dir); (n == 0) != (o.Encryption == EncryptAll) {
			t.Errorf("%d: %d canaries", i, n)
		}
	}
}

// TestOnlySecretsAreEncrypted when that is what is asked for.
func TestOnlySecretsAreEncrypted(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{Keys: keys(t, 1), Encryption: EncryptSecrets})
	canaries(t, s, 1)
	open := leaks(t, dir)
	secrets := &watchlog.Resource{Version: "v1", Name: "secrets", Kind: "Secret", ListKind: "SecretList", Namespaced: true}
	describe(t, s, secrets)
	o, err := watchlog.NewDecoder(secrets).Decode([]byte(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s","namespace":"ns","uid":"u","resourceVersion":"5"},"data":{"a":"` + canary + `"}}`))
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx *Tx) error {
		return tx.Apply(secrets.GroupResource(), watchlog.New(secrets, watchlog.Config{}).Snapshot().Plan([]watchlog.Op{put(o)}, 5))
	})
	if n := leaks(t, dir); open == 0 || n > open {
		t.Errorf("%d canaries, before the secret %d", n, open)
	}
	c, err := s.Load(secrets.GroupResource(), watchlog.NewDecoder(secrets))
	if err != nil || len(c.Objects) != 1 || !bytes.Contains(c.Objects[0].JSON(), []byte(canary)) {
		t.Errorf("%v", err)
	}
}

// TestAFailureBeforeTheFileIsReplacedLosesNothing.
func TestAFailureBeforeTheFileIsReplacedLosesNothing(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	canaries(t, s, 1)
	want := content(t, s)
	closed(t, s)
	failure := errors.New("power cut")
	o := Options{Keys: keys(t, 1), Encryption: EncryptAll, Logger: silent, Failpoint: func(step string) error {
		if step == StepEncrypt {
			return failure
		}
		return nil
	}}
	if _, err := Open(dir, o); !errors.Is(err, failure) {
		t.Fatal(err)
	}
	check(t, dir)
	o.Failpoint = nil
	s = open(t, dir, o)
	if content(t, s) != want || leaks(t, dir) > 0 {
		t.Error("the content is another, or leaks")
	}
}

// TestARecordCantStandInForAnother: one that is put in another's place, with a checksum that is right there, is noticed.
func TestARecordCantStandInForAnother(t *testing.T) {
	dir := t.TempDir()
	o := Options{Keys: keys(t, 1), Encryption: EncryptAll, Logger: silent}
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	canaries(t, s, 1)
	closed(t, s)
	tamper(t, dir, func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketResources).Bucket([]byte("pods")).Bucket(bucketBodies)
		c := b.Cursor()
		k, v := c.First()
		payload := bytes.Clone(v[crcSize:])
		next, _ := c.Next()
		_ = k
		return b.Put(bytes.Clone(next), seal(next, payload))
	})
	if r, err := CheckEncrypted(dir, o.Keys); err != nil || r.Err() == nil {
		t.Errorf("%v", err)
	}
}

func TestParseKeys(t *testing.T) {
	raw := strings.Repeat("k", keySize)
	line := base64.StdEncoding.EncodeToString([]byte(raw))
	other := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("j", keySize)))
	for text, want := range map[string]int{
		raw: 1, line: 1, "# new\n" + line + "\n\n" + other + "\n": 2, "": 0, "short": 0, line + "\n" + line: 0, raw + "\n": 0, line[:40]: 0,
	} {
		k, err := ParseKeys([]byte(text))
		if (err == nil) != (want > 0) || err == nil && len(k.all) != want {
			t.Errorf("%q: %v", text, err)
		}
		if err != nil && text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("the error shows what is in the file: %v", err)
		}
	}
}
