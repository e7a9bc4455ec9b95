package apidoc

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func text(t *testing.T, b Body) []byte {
	t.Helper()
	got, err := b.Text()
	if err != nil {
		t.Error(err)
	}
	return got
}

func TestBodyGivesBackItsText(t *testing.T) {
	noise := make([]byte, 3<<20)
	src := rand.NewChaCha8([32]byte{})
	_, _ = src.Read(noise)
	for _, want := range [][]byte{nil, []byte("{}"), bytes.Repeat([]byte(`{"a":1}`), 1<<19), noise} {
		b := Pack(want)
		if got := text(t, b); !bytes.Equal(got, want) || b.Len() != len(want) {
			t.Fatalf("%d bytes became %d", len(want), len(got))
		}
		again, err := Unpack(b.Frame())
		if err != nil || !bytes.Equal(text(t, again), want) || again.sum != b.sum || again.size != b.size {
			t.Fatalf("%d bytes: %v", len(want), err)
		}
	}
	if n := len(Pack(bytes.Repeat([]byte(`{"a":1}`), 1<<19)).Frame()); n > 1<<12 {
		t.Errorf("what repeats takes %d bytes", n)
	}
}

func TestRepackKeepsWhatDidNotChange(t *testing.T) {
	b := Pack([]byte("one"))
	if again := b.Repack([]byte("one")); &again.frame[0] != &b.frame[0] {
		t.Error("the same text was compressed again")
	}
	if other := b.Repack([]byte("two")); string(text(t, other)) != "two" {
		t.Error("another text was not taken")
	}
}

// TestBombs: what a frame claims or does costs no more than the bounds.
func TestBombs(t *testing.T) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err != nil {
		t.Fatal(err)
	}
	wide, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(8*window), zstd.WithSingleSegment(true))
	if err != nil {
		t.Fatal(err)
	}
	large := make([]byte, MaxText/2+1)
	half := e.EncodeAll(large, nil)
	for name, frame := range map[string][]byte{
		"a text that is too large":           e.EncodeAll(make([]byte, MaxText+1), nil),
		"frames that are too large together": append(bytes.Clone(half), half...),
		"a wide window":                      wide.EncodeAll(make([]byte, 6*window), nil),
		"a frame that is too large":          make([]byte, MaxFrame+1),
		"no frame":                           []byte("hello"),
		"an empty frame":                     {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x00, 0x01, 0x00, 0x00},
		"a frame that is cut off":            Pack(bytes.Repeat([]byte("ab"), 1000)).Frame()[:10],
	} {
		if _, err := Unpack(frame); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzUnpack: whatever is taken can be read in full and stays what it is.
func FuzzUnpack(f *testing.F) {
	f.Add(Pack([]byte("hello")).Frame())
	f.Add(Pack(bytes.Repeat([]byte("ab"), 10_000)).Frame())
	f.Fuzz(func(t *testing.T, frame []byte) {
		b, err := Unpack(frame)
		if err != nil {
			return
		}
		if got := text(t, b); len(got) != b.Len() || len(got) > 0 && sumOf(got) != b.sum {
			t.Errorf("%d bytes, should be %d", len(got), b.Len())
		}
	})
}

func BenchmarkText(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 2 << 20} {
		body := Pack(bytes.Repeat([]byte(`{"a":1,"b":"some text"}`), size/23))
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := body.WriteTo(io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
