package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// FuzzRecords: decoders take any bytes without a panic, complain with ErrCorrupt alone, and what they take is what the
// encoders write.
func FuzzRecords(f *testing.F) {
	e := eventRecord{typ: watchlog.Modified, late: true, rev: 7, shown: 6, object: 3, prev: 2, key: "ns/a"}
	p := progress{rev: 9, staged: 12, oldest: 3, bytes: 500, gaps: []watchlog.Gap{{From: 4, To: 6}}}
	f.Add(e.encode())
	f.Add(p.encode())
	f.Add(entry{id: 1, rev: 2}.encode())
	f.Add(seal([]byte("k"), []byte("payload")))
	f.Add(append(appendText(appendText(nil, "application/json"), `"etag"`), "{}"...))
	f.Add(appendBody(appendText(appendText(nil, "m"), "e"), apidoc.Pack([]byte("{}"))))
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, err := decodeEvent(b); complains(t, err) == nil && !bytes.Equal(e.encode(), b) {
			t.Errorf("event %+v", e)
		}
		if p, err := decodeProgress(b); complains(t, err) == nil && !bytes.Equal(p.encode(), b) {
			t.Errorf("progress %+v", p)
		}
		if e, err := decodeEntry(b); complains(t, err) == nil && !bytes.Equal(e.encode(), b) {
			t.Errorf("entry %+v", e)
		}
		if v, err := unseal([]byte("k"), b); complains(t, err) == nil && !bytes.Equal(seal([]byte("k"), v), b) {
			t.Errorf("payload %q", v)
		}
		if text, rest, err := cutText(b); complains(t, err) == nil {
			again, left, err := cutText(append(appendText(nil, text), rest...))
			if err != nil || again != text || !bytes.Equal(left, rest) {
				t.Errorf("text %q, then %q", text, rest)
			}
		}
		key := []byte("/a\x00v2")
		if d, err := decodeDocument(key, seal(key, b)); complains(t, err) == nil {
			if again, err := decodeDocument(key, encodeDocument(d)); err != nil || !reflect.DeepEqual(d, again) {
				t.Errorf("document %+v, then %+v, %v", d, again, err)
			}
		}
	})
}

func complains(t *testing.T, err error) error {
	t.Helper()
	if err != nil && !errors.Is(err, ErrCorrupt) {
		t.Errorf("not ErrCorrupt: %v", err)
	}
	return err
}

// FuzzPages: the walk over any bytes comes to an end without a panic.
func FuzzPages(f *testing.F) {
	file, err := os.ReadFile(filepath.Join(filled(f), FileName))
	if err != nil {
		f.Fatal(err)
	}
	for root := range uint64(len(file) / diskPage) {
		f.Add(file, root, uint64(len(file)/diskPage))
	}
	f.Fuzz(func(t *testing.T, file []byte, root, high uint64) {
		w := newPageWalk(bytes.NewReader(file), int64(len(file)), int64(diskPage), high)
		_ = complains(t, w.tree(root, nil, nil, 0, 0))
	})
}

// FuzzDamage: a file with any of its bytes changed is set aside, refused, or says what was once written.
func FuzzDamage(f *testing.F) {
	dir := filled(f)
	file, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		f.Fatal(err)
	}
	sound, err := outcome(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{0, 2, 0, 1})
	f.Add([]byte{0, 16, 8, 3, 0, 32, 12, 0xff})
	f.Fuzz(func(t *testing.T, edits []byte) {
		b := bytes.Clone(file)
		for ; len(edits) >= 4; edits = edits[4:] { // three bytes of where, one of what
			at := int(edits[0])<<16 | int(edits[1])<<8 | int(edits[2])
			b[at%len(b)] = edits[3]
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, FileName), b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := outcome(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got != sound && got != "fresh" && got != "corrupt" {
			t.Fatalf("says\n%s\nwas\n%s", got, sound)
		}
	})
}

// FuzzDecrypt: no record makes it panic, and none that was changed opens as another text.
func FuzzDecrypt(f *testing.F) {
	k := keys(f, 1)
	good := k.all[0].encrypt([]byte("where"), []byte(`{"a":1}`))
	f.Add(good)
	f.Add([]byte{sealedMark})
	f.Add([]byte(`{"a":1}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		plain, err := k.decrypt([]byte("where"), payload)
		if _, sealed := isSealed(payload); sealed && err == nil && !bytes.Equal(plain, []byte(`{"a":1}`)) {
			t.Errorf("%x opens as %q", payload, plain)
		}
	})
}

// FuzzParseKeys: no file makes it panic, and what it takes can seal and open.
func FuzzParseKeys(f *testing.F) {
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"))
	f.Add([]byte("# x\nYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		k, err := ParseKeys(file)
		if err != nil {
			return
		}
		if plain, err := k.decrypt(nil, k.all[0].encrypt(nil, []byte("x"))); err != nil || string(plain) != "x" {
			t.Errorf("%q: %v", plain, err)
		}
	})
}
