package litesrv

import (
	"net/http"
	"sync"
	"time"
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

	buf   *[]byte   // pooled; nil while idle
	armed time.Time // the write deadline that is set; zero when none is
	dead  bool      // nothing is sent any more; a write failed: the client is gone or has been too slow
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
	o.push()
}

func (o *outlet) write() {
	if len(*o.buf) > 0 && !o.dead {
		o.arm(time.Now())
		if _, err := o.w.Write(*o.buf); err != nil {
			o.dead = true
		}
	}
	*o.buf = (*o.buf)[:0]
}

// push sends what net/http has gathered.
func (o *outlet) push() {
	if o.rc.Flush() != nil {
		o.dead = true
	}
}

// release gives the buffer back.
func (o *outlet) release() {
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
