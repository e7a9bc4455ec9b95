package kinds

import "testing"

// BenchmarkEncode encodes a pod with every field set.
func BenchmarkEncode(b *testing.B) {
	raw, _ := fixture(b, fixtures(b), name{"v1", "Pod"})
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode("v1", "Pod", raw); err != nil {
			b.Fatal(err)
		}
	}
}
