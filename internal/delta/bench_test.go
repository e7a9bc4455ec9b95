package delta

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// typical returns two versions of an object of about so many bytes, as a status update makes them: revision, two times and
// a condition change.
func typical(tb testing.TB, size int) (was, is *watchlog.Object) {
	rng := rand.New(rand.NewPCG(7, uint64(size))) //nolint:gosec // small
	var filler bytes.Buffer
	for i := 0; filler.Len() < size; i++ {
		fmt.Fprintf(&filler, `,"f:%s":{"k:{\"type\":\"%s\"}":{".":{},"f:lastTransitionTime":{},"f:value%d":"%s"}}`,
			letters(rng, 8), letters(rng, 6), i, letters(rng, 12))
	}
	d := watchlog.NewDecoder(&watchlog.Resource{Name: "things"})
	at := func(rev int, time, ready string) *watchlog.Object {
		o, err := d.Decode(fmt.Appendf(nil, `{"metadata":{"name":"a","uid":"u","resourceVersion":"%d","managedFields":[{"time":"%s","x":1%s}]},`+
			`"status":{"conditions":[{"type":"Ready","status":"%s","lastTransitionTime":"%s"}]}}`, rev, time, filler.Bytes(), ready, time))
		if err != nil {
			tb.Fatal(err)
		}
		return o
	}
	return at(1234567, "2026-01-02T03:04:05Z", "True"), at(1234599, "2026-01-02T03:14:05Z", "False")
}

// BenchmarkPatch prints what one update costs, and its bytes on the wire.
func BenchmarkPatch(b *testing.B) {
	for _, size := range []int{800, 6_000, 9_000, 12_000, 28_000, 50_000} {
		was, is := typical(b, size)
		p := patchFor(b, was, is)
		b.Run(fmt.Sprintf("encode/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			buf := p
			for b.Loop() {
				buf, _ = AppendPatch(buf[:0], was, is)
			}
			b.ReportMetric(float64(len(p)), "B/update")
		})
		b.Run(fmt.Sprintf("apply/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			want := resultOf(is)
			for b.Loop() {
				if _, _, err := Apply(was, p, want); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
