package store

import (
	"bytes"
	"errors"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

func TestBodiesOfAllVersionsAreRead(t *testing.T) {
	want := apidoc.Document{Path: "/apis", MediaType: "m", ETag: "e", Body: apidoc.Pack([]byte(`{"kind":"APIGroupList"}`))}
	key := []byte(documentKey(want))
	head := appendText(appendText(nil, want.MediaType), want.ETag)
	for name, body := range map[string][]byte{
		"text": []byte(want.Body.String()), "frame": want.Body.Frame(), "measured": appendBody(nil, want.Body),
	} {
		v := seal(key, append(bytes.Clone(head), body...))
		got, err := decodeDocument(key, v)
		if err != nil || !got.Equal(want) || got.Body.String() != want.Body.String() {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if err := verifyDocument(key, v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckReadsTexts: what a start takes on trust is what Check finds out.
func TestCheckReadsTexts(t *testing.T) {
	key := []byte("/apis\x00")
	frame := apidoc.Pack([]byte("a text")).Frame()
	other := apidoc.Pack([]byte("b text"))
	for name, b := range map[string]struct {
		frame []byte
		size  int
	}{
		"another text":   {frame, other.Len()},
		"another size":   {other.Frame(), other.Len() + 1},
		"a broken frame": {other.Frame()[:len(other.Frame())-1], other.Len()},
	} {
		body, err := apidoc.Restore(b.frame, b.size, other.Sum())
		if err != nil {
			t.Fatal(err)
		}
		v := encodeDocument(apidoc.Document{Path: "/apis", Body: body})
		if _, err := decodeDocument(key, v); err != nil {
			t.Errorf("%s: a start reads it: %v", name, err)
		}
		if err := verifyDocument(key, v); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
