package watchlog

import (
	"bytes"
	"testing"
)

// TestPlainStopsWhereAByteMeansSomething: at every place of eight, whatever bytes stand before and behind.
func TestPlainStopsWhereAByteMeansSomething(t *testing.T) {
	for _, around := range []byte{' ', '!', '#', '[', ']', 'a', 0x7f, 0x80, 0xa2, 0xdc, 0xff} {
		for c := range 256 {
			for at := range 20 {
				buf := bytes.Repeat([]byte{around}, 20)
				buf[at] = byte(c)
				want := len(buf)
				if c < ' ' || c == '"' || c == '\\' {
					want = at
				}
				s := scanner{buf: buf}
				if s.plain(); s.pos != want {
					t.Fatalf("byte %#x at %d among %#x: stops at %d", c, at, around, s.pos)
				}
			}
		}
	}
}
