package syncsrv

import (
	"math/bits"
	"sync"
)

const (
	// smallBuffer is the capacity of the smallest buffers: gRPC gives back none of 1 KiB or less.
	smallBuffer = 2 << 10
	// bufferSizes is how many sizes there are, each twice the one before. What is larger is made for once.
	bufferSizes = 8
)

// buffers are what messages are encoded into, by size.
var buffers [bufferSizes]sync.Pool

// bufferSize returns the place in buffers, and the capacity, of buffers for n bytes.
func bufferSize(n int) (at, capacity int) {
	at = bits.Len(uint(max(0, n-1) / smallBuffer)) //nolint:gosec // not negative
	return at, smallBuffer << at
}

// bufferFor returns an empty buffer with room for n bytes.
func bufferFor(n int) *[]byte {
	at, capacity := bufferSize(n)
	if at >= bufferSizes {
		b := make([]byte, 0, n)
		return &b
	}
	if b, ok := buffers[at].Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, capacity)
	return &b
}

// recycle takes back a buffer of bufferFor.
func recycle(b *[]byte) {
	if at, capacity := bufferSize(cap(*b)); at < bufferSizes && capacity == cap(*b) {
		*b = (*b)[:0]
		buffers[at].Put(b)
	}
}
