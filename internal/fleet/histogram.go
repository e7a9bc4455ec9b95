package fleet

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// histogram counts values from 0 on, each to within 1/32. It is safe for concurrent use. The zero value is empty.
type histogram struct {
	counts [64 * subBuckets]atomic.Int64
	total  atomic.Int64
	sum    atomic.Int64
	most   atomic.Int64
}

// subBuckets is how many buckets there are between a power of two and the next.
const subBuckets = 32

// add counts a value n times. What is negative counts as 0.
func (h *histogram) add(value, n int64) {
	value = max(0, value)
	h.counts[bucket(value)].Add(n)
	h.total.Add(n)
	h.sum.Add(value * n)
	for {
		most := h.most.Load()
		if value <= most || h.most.CompareAndSwap(most, value) {
			return
		}
	}
}

// bucket returns where a value is counted: below subBuckets for itself, then by its highest bits.
func bucket(v int64) int {
	if v < subBuckets {
		return int(v)
	}
	shift := bits.Len64(uint64(v)) - bits.Len(subBuckets)
	return (shift+1)*subBuckets + int(v>>shift) - subBuckets
}

// lowest returns the smallest value that a bucket counts.
func lowest(bucket int) int64 {
	if bucket < subBuckets {
		return int64(bucket)
	}
	shift := bucket/subBuckets - 1
	return int64(bucket%subBuckets+subBuckets) << shift
}

// quantile returns the value that a share q of all are not above, 0 when there are none.
func (h *histogram) quantile(q float64) int64 {
	rank := int64(math.Ceil(q * float64(h.total.Load())))
	for i := range h.counts {
		if rank -= h.counts[i].Load(); rank <= 0 && h.counts[i].Load() > 0 {
			return min(lowest(i+1)-1, h.most.Load())
		}
	}
	return h.most.Load()
}

// mean returns the mean, 0 when there is nothing.
func (h *histogram) mean() float64 {
	if n := h.total.Load(); n > 0 {
		return float64(h.sum.Load()) / float64(n)
	}
	return 0
}

// reset forgets all. What is added meanwhile may be lost.
func (h *histogram) reset() {
	for i := range h.counts {
		h.counts[i].Store(0)
	}
	h.total.Store(0)
	h.sum.Store(0)
	h.most.Store(0)
}
