package delta

import (
	"errors"
	"fmt"
	"testing"
)

// TestRangesFindWhatDiffers: the parts that differ are those of the objects that do, and no others.
func TestRangesFindWhatDiffers(t *testing.T) {
	const n = 5000
	a, b := NewRanges(n, 1), NewRanges(n, 1)
	var da, db Digest
	var straight Digest
	sizes := make([]int, len(a))
	want := map[int]bool{}
	for i := range n {
		key := fmt.Sprintf("pod-%d", i)
		o := object(t, key, fmt.Sprint("u", i), uint64(i+1))
		da.AddRanged(a, o)
		straight.Add(o)
		sizes[a.Part(key)]++
		if i%1000 == 7 {
			want[a.Part(key)] = true
			o = object(t, key, fmt.Sprint("u", i), uint64(i+2))
		}
		db.AddRanged(b, o)
	}
	if da != straight || da == db {
		t.Error("the digest is not what Add makes")
	}
	back, err := ParseRanges(a.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	parts := back.Differ(b)
	for i := range a {
		if parts.Has(i) != want[i] {
			t.Errorf("part %d: %v, want %v", i, parts.Has(i), want[i])
		}
	}
	if parts.Len() != len(want) || AllParts(a).Len() != len(a) || parts.Has(1<<20) {
		t.Errorf("%d parts, want %d", parts.Len(), len(want))
	}
	for i, size := range sizes {
		if size > 3*n/len(a) {
			t.Errorf("part %d has %d of %d objects", i, size, n)
		}
	}
}

func TestRangesAreAsManyAsPay(t *testing.T) {
	for objects, want := range map[int]int{0: 0, 31: 0, 32: 16, 1000: 128, 5000: 256, 100_000: 1024, 10_000_000: 1024} {
		if got := len(NewRanges(objects, 0)); got != want {
			t.Errorf("%d objects: %d ranges, want %d", objects, got, want)
		}
	}
}

// TestPartsAreFinerTheMoreDiffers: what 50 deletions cost is little more than the sums.
func TestPartsAreFinerTheMoreDiffers(t *testing.T) {
	for differ, want := range map[int]int{1: 256, 2: 512, 50: 1024, 5000: 1024} {
		if got := len(NewRanges(5000, differ)); got != want {
			t.Errorf("%d of 5000 differ: %d ranges, want %d", differ, got, want)
		}
	}
}

func FuzzParseRanges(f *testing.F) {
	f.Add(NewRanges(100, 1).Bytes())
	f.Add([]byte("short"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseRanges(b)
		if err != nil {
			if !errors.Is(err, ErrDigest) {
				t.Error(err)
			}
			return
		}
		if string(r.Bytes()) != string(b) {
			t.Error("encoded to something else")
		}
		if p := r.Part("ns/name"); p < 0 || p >= len(r) {
			t.Errorf("part %d of %d", p, len(r))
		}
	})
}

func TestPartIsTheChecksumsRemainder(t *testing.T) {
	r := NewRanges(5000, 1)
	for _, key := range []string{"", "a", "ns/name", "kube-system/a-longer-name-than-that"} {
		if got, want := r.Part(key), int(Checksum([]byte(key))%uint32(len(r))); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
}

func BenchmarkDigestAddRanged(b *testing.B) {
	o := object(b, "a-namespace/a-pod-with-a-name", "6a1f3c0e-0000-4000-8000-000000000000", 123456)
	b.ReportAllocs()
	r := NewRanges(5000, 1)
	var d Digest
	for b.Loop() {
		d.AddRanged(r, o)
	}
}
