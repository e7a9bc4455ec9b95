package store

import (
	"errors"
	"testing"
)

func TestARecordUnderAnotherKeyIsCorrupt(t *testing.T) {
	v := seal([]byte("a"), []byte("payload"))
	if got, err := unseal([]byte("a"), v); err != nil || string(got) != "payload" {
		t.Fatal(got, err)
	}
	for _, c := range []struct{ key, value []byte }{
		{[]byte("b"), v}, {[]byte("a"), v[:len(v)-1]}, {[]byte("a"), v[:3]}, {[]byte("a"), nil},
	} {
		if _, err := unseal(c.key, c.value); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s %x: %v", c.key, c.value, err)
		}
	}
}
