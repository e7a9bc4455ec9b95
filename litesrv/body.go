package litesrv

import (
	"net/http"
	"time"

	"github.com/klauspost/compress/gzip"
)

const (
	// gzipThreshold is the size above which a body is compressed when the client takes gzip (apiserver
	// pkg/endpoints/handlers/responsewriters/writers.go).
	gzipThreshold = 128 << 10
	// bodyPatience bounds the time in which a client must take one chunk of a list. A client that reads slower costs
	// only itself: a goroutine, a buffer and the snapshot that it is being sent.
	bodyPatience = 2 * time.Minute
)

// body writes the body of one answer in chunks, indented or compressed if that was asked for. Callers append to buf and
// call spill now and then, and finish at the end. It is used by one goroutine.
type body struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	gzip bool // the client takes gzip

	buf     []byte
	pooled  *[]byte
	pretty  *indenter
	indent  *[]byte // pooled; nil unless pretty
	zip     *gzip.Writer
	begun   bool
	failure error // the first error of a write; nothing is written behind it
}

// newBody starts an answer to r, a success, in the representation p.
func newBody(w http.ResponseWriter, r *http.Request, p representation) *body {
	b := &body{w: w, rc: http.NewResponseController(w), gzip: takesGzip(r), pooled: getBuffer()}
	b.buf = *b.pooled
	if p.pretty {
		b.pretty, b.indent = &indenter{}, getBuffer()
	}
	w.Header().Set("Content-Type", p.mediaType())
	return b
}

// spill writes out what was appended once it is a chunk. It tells whether there is any use in going on.
func (b *body) spill() bool {
	if len(b.buf) >= chunkSize {
		b.write()
	}
	return b.failure == nil
}

// Write appends p and spills. It does not fail.
func (b *body) Write(p []byte) (int, error) {
	b.buf = append(b.buf, p...)
	b.spill()
	return len(p), nil
}

// finish writes the rest and gives the buffers back.
func (b *body) finish() {
	b.write()
	if b.zip != nil {
		b.keep(b.zip.Close())
	}
	b.release()
}

// abandon gives the buffers back and leaves it at what is written.
func (b *body) abandon() {
	b.release()
	b.w.Header().Del("Content-Type")
}

func (b *body) release() {
	if b.zip != nil {
		putGzip(b.zip)
	}
	*b.pooled = b.buf
	putBuffer(b.pooled)
	if b.indent != nil {
		putBuffer(b.indent)
	}
}

func (b *body) write() {
	out := b.buf
	if b.pretty != nil {
		*b.indent = b.pretty.append((*b.indent)[:0], b.buf)
		out = *b.indent
	}
	b.buf = b.buf[:0]
	if b.failure != nil {
		return
	}
	if !b.begun {
		b.begin(len(out))
	}
	if len(out) >= chunkSize {
		// Small answers are buffered by net/http and need no deadline of their own. One that can't be set is none.
		_ = b.rc.SetWriteDeadline(time.Now().Add(bodyPatience))
	}
	var err error
	if b.zip != nil {
		_, err = b.zip.Write(out)
	} else {
		_, err = b.w.Write(out) //nolint:gosec // the type is one of an API, which no browser renders
	}
	b.keep(err)
}

// begin sends the header. first is the size of the first chunk, which is all of a small body.
func (b *body) begin(first int) {
	b.begun = true
	if b.gzip && first > gzipThreshold {
		b.w.Header().Set("Content-Encoding", "gzip")
		b.w.Header().Add("Vary", "Accept-Encoding")
		b.zip = getGzip(b.w)
	}
	b.w.WriteHeader(http.StatusOK)
}

func (b *body) keep(err error) {
	if b.failure == nil {
		b.failure = err
	}
}
