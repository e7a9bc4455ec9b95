package litesrv

import "sync"

const (
	// chunkSize is how many bytes are gathered before they are written: enough for few system calls and TLS records,
	// little enough to stay in the cache. It is above gzipThreshold, so the first chunk decides about compression.
	chunkSize = 192 << 10
	// bufferSize leaves room for the object that fills a chunk.
	bufferSize = 256 << 10
	// keepSize bounds the buffers that are kept for reuse: one object may be large.
	keepSize = 1 << 20
)

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, bufferSize); return &b }}

// getBuffer returns an empty buffer, to be given back with putBuffer.
func getBuffer() *[]byte { return buffers.Get().(*[]byte) }

// putBuffer takes back a buffer that nobody uses any more.
func putBuffer(b *[]byte) {
	if cap(*b) > keepSize {
		return
	}
	*b = (*b)[:0]
	buffers.Put(b)
}
