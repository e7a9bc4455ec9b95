package fleet

import (
	"math"
	"testing"
)

func TestBucketsCoverAllValuesInOrder(t *testing.T) {
	last := -1
	for _, v := range []int64{0, 1, 31, 32, 33, 63, 64, 65, 1000, 1 << 20, 1<<40 + 12345, math.MaxInt64} {
		b := bucket(v)
		if b < last {
			t.Errorf("%d is counted before a smaller value", v)
		}
		last = b
		if low := lowest(b); low > v || float64(v-low) > float64(v)/subBuckets {
			t.Errorf("%d is counted as %d", v, low)
		}
	}
	for v := range int64(1 << 12) {
		if b := bucket(v); lowest(b) > v || lowest(b+1) <= v {
			t.Fatalf("%d is in bucket %d, from %d to %d", v, b, lowest(b), lowest(b+1))
		}
	}
}

func TestQuantiles(t *testing.T) {
	var h histogram
	if h.quantile(.5) != 0 || h.mean() != 0 {
		t.Error("an empty histogram has values")
	}
	for v := range int64(1000) {
		h.add(v, 1)
	}
	h.add(1_000_000, 5)
	for q, want := range map[float64]int64{.1: 100, .5: 502, .99: 995, 1: 1_000_000} {
		if got := h.quantile(q); math.Abs(float64(got-want)) > float64(want)/subBuckets {
			t.Errorf("quantile %v is %d, want about %d", q, got, want)
		}
	}
	h.reset()
	if h.quantile(1) != 0 {
		t.Error("something is left after a reset")
	}
}
