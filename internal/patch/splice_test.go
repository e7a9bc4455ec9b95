package patch

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func lease(rev int, renewed string, holder string) Text {
	return Text{
		Head: fmt.Appendf(nil, `{"kind":"Lease","metadata":{"name":"a","resourceVersion":"%d","time":"%s"},"spec":{"holder":"%s","renewTime":"%s"}}`,
			rev, renewed, holder, renewed),
		Tail: fmt.Appendf(nil, `["a",%q]`, holder),
	}
}

func joined(t Text) []byte { return append(bytes.Clone(t.Head), t.Tail...) }

func TestSpliceMakesTheText(t *testing.T) {
	for name, pair := range map[string][2]Text{
		"heartbeat":        {lease(1234567, "2026-01-02T03:04:05Z", "x"), lease(1234999, "2026-01-02T03:04:15Z", "x")},
		"one digit more":   {lease(999, "2026-01-02T03:04:05Z", "x"), lease(1000, "2026-01-02T03:04:15Z", "x")},
		"one digit less":   {lease(1000, "2026-01-02T03:04:05Z", "x"), lease(999, "2026-01-02T03:04:15Z", "x")},
		"something longer": {lease(1000, "2026-01-02T03:04:05Z", "x"), lease(1001, "2026-01-02T03:04:15Z", "somebody else")},
		"the same":         {lease(1, "now", "x"), lease(1, "now", "x")},
		"nothing left":     {lease(1, "now", "x"), {}},
		"of nothing":       {{}, {Head: []byte("a few bytes")}},
		"cut short":        {{Head: []byte("0123456789abcdef")}, {Head: []byte("0123456789")}},
		"cells lost":       {lease(1, "now", "x"), {Head: lease(1, "now", "x").Head}},
	} {
		data, ok := AppendSplice(nil, pair[0], pair[1], 200)
		if !ok {
			t.Errorf("%s: not near enough", name)
			continue
		}
		got, err := ApplySplice(nil, pair[0], data, int64(pair[1].Len()))
		if err != nil || !bytes.Equal(got, joined(pair[1])) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestSpliceOfAHeartbeatIsSmall(t *testing.T) {
	data, _ := AppendSplice(nil, lease(1234567, "2026-01-02T03:04:05Z", "x"), lease(1234999, "2026-01-02T03:04:15Z", "x"), 200)
	if len(data) > 40 {
		t.Errorf("%d bytes", len(data))
	}
}

func TestTextsThatAreNotNearGetNoSplice(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var a, b strings.Builder
	for range 200 {
		fmt.Fprintf(&a, "%x", rng.Uint64())
		fmt.Fprintf(&b, "%x", rng.Uint64())
	}
	if data, ok := AppendSplice([]byte("x"), Text{Head: []byte(a.String())}, Text{Head: []byte(b.String())}, 500); ok || string(data) != "x" {
		t.Errorf("%d bytes", len(data))
	}
}

// FuzzSplice: what is made applies, and whatever is applied fails or makes just so many bytes.
func FuzzSplice(f *testing.F) {
	base, text := lease(99, "2026-01-02T03:04:05Z", "x"), lease(100, "2026-01-02T03:04:15Z", "y")
	data, _ := AppendSplice(nil, base, text, 200)
	f.Add(joined(base), joined(text), data)
	f.Add([]byte("0123456789abcdef"), []byte("abcdef0123456789"), []byte{0x10, 0, 0x1f})
	f.Fuzz(func(t *testing.T, b, x, raw []byte) {
		base, text := Text{Head: b}, Text{Head: x[:len(x)/2], Tail: x[len(x)/2:]}
		if data, ok := AppendSplice(nil, base, text, 1<<20); ok {
			got, err := ApplySplice(nil, base, data, int64(len(x)))
			if err != nil || !bytes.Equal(got, x) {
				t.Fatalf("%q of %q: %q, %v", x, b, got, err)
			}
		}
		got, err := ApplySplice(make([]byte, 0, 10), base, raw, int64(len(x)))
		if err == nil && len(got) != len(x) || err != nil && !errors.Is(err, Err) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	})
}

func BenchmarkSplice(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	var filler strings.Builder
	for filler.Len() < 12_000 {
		fmt.Fprintf(&filler, `"%x",`, rng.Uint64())
	}
	was, is := lease(1234567, "2026-01-02T03:04:05Z", filler.String()), lease(1234999, "2026-01-02T03:04:15Z", filler.String())
	data, _ := AppendSplice(nil, was, is, 200)
	b.Run("make", func(b *testing.B) {
		for b.Loop() {
			data, _ = AppendSplice(data[:0], was, is, 200)
		}
		b.ReportMetric(float64(len(data)), "B/splice")
	})
	b.Run("apply", func(b *testing.B) {
		dst := make([]byte, 0, 2*is.Len())
		for b.Loop() {
			if _, err := ApplySplice(dst, was, data, int64(is.Len())); err != nil {
				b.Fatal(err)
			}
		}
	})
}
