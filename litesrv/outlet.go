package litesrv

import (
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
)

const (
	// outletChunk is how many bytes of frames are gathered while there are more to come: two TLS records.
	outletChunk = 32 << 10
	// outletBuffer leaves room for the frame that fills a chunk; outletKeep bounds the buffers that are kept for reuse.
	outletBuffer = 48 << 10
	outletKeep   = 128 << 10
	// outletPatience bounds the time in which a client must take what is written to it: it has half of this at least
	// and all of it at most. Until then a client that never reads costs a goroutine, a buffer and a cursor.
	outletPatience = 10 * time.Minute
)

var outletBuffers = sync.Pool{New: func() any { b := make([]byte, 0, outletBuffer); return &b }}

// outlet writes the frames of one watch. It holds a buffer only while there is something to send. It is used by one
// goroutine.
type outlet struct {
	w  http.ResponseWriter
	rc *http.ResponseController

	gzip  bool         // what is sent is compressed: each flush ends a gzip member
	zip   *gzip.Writer // of the member that is being written; pooled; nil while idle
	buf   *[]byte      // pooled; nil while idle
	armed time.Time    // the write deadline that is set; zero when none is
	dead  bool         // nothing is sent any more; a write failed: the client is gone or has been too slow
}

func newOutlet(w http.ResponseWriter) outlet {
	return outlet{w: w, rc: http.NewResponseController(w)}
}

// buffer returns where frames are appended to.
func (o *outlet) buffer() *[]byte {
	if o.buf == nil {
		o.buf = outletBuffers.Get().(*[]byte)
	}
	return o.buf
}

// spill writes the frames once they fill a chunk.
func (o *outlet) spill() {
	if len(*o.buf) >= outletChunk {
		o.write()
	}
}

// flush sends the frames to the client now.
func (o *outlet) flush() {
	if o.buf == nil || o.dead {
		return
	}
	o.write()
	o.endMember()
	o.push()
}

func (o *outlet) write() {
	if len(*o.buf) > 0 && !o.dead {
		o.arm(time.Now())
		if _, err := o.sink().Write(*o.buf); err != nil {
			o.dead = true
		}
	}
	*o.buf = (*o.buf)[:0]
}

// sink is what frames are written to.
func (o *outlet) sink() io.Writer {
	if !o.gzip {
		return o.w
	}
	if o.zip == nil {
		o.zip = getGzip(o.w)
	}
	return o.zip
}

// endMember makes the client able to read all that was written (apiserver pkg/endpoints/handlers/watch.go,
// perFlushGzipWriter), and gives the writer back: a watch that is idle holds none. The frames must not be in the last
// block of the member: Go's reader keeps that to itself until it has seen the header of the next member.
func (o *outlet) endMember() {
	if o.zip == nil {
		return
	}
	if o.zip.Flush() != nil || o.zip.Close() != nil {
		o.dead = true
	}
	putGzip(o.zip)
	o.zip = nil
}

// push sends what net/http has gathered.
func (o *outlet) push() {
	if o.rc.Flush() != nil {
		o.dead = true
	}
}

// release gives back what is pooled. Of a member that isn't ended the rest is lost: the client is gone.
func (o *outlet) release() {
	if o.zip != nil {
		putGzip(o.zip)
		o.zip = nil
	}
	if o.buf == nil {
		return
	}
	if cap(*o.buf) <= outletKeep {
		*o.buf = (*o.buf)[:0]
		outletBuffers.Put(o.buf)
	}
	o.buf = nil
}

// arm sees to it that a write deadline is set that is not too near. Setting it is not free, so it isn't done for each
// write. A connection that can't have one does without.
func (o *outlet) arm(now time.Time) {
	if o.armed.IsZero() || o.armed.Sub(now) < outletPatience/2 {
		o.armed = now.Add(outletPatience)
		_ = o.rc.SetWriteDeadline(o.armed)
	}
}

// disarmAt returns when disarm has something to do; zero if never.
func (o *outlet) disarmAt() time.Time {
	if o.armed.IsZero() {
		return time.Time{}
	}
	return o.armed.Add(-outletPatience / 2)
}

// disarm takes the write deadline off a stream that has been idle: over HTTP/2 it would end the stream even when nothing
// is being written.
func (o *outlet) disarm(now time.Time) {
	if at := o.disarmAt(); !at.IsZero() && !now.Before(at) {
		o.armed = time.Time{}
		_ = o.rc.SetWriteDeadline(time.Time{})
	}
}
