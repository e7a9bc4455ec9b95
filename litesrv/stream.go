package litesrv

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// eventsAtOnce is how many events are read in one step.
const eventsAtOnce = 64

// stream is a watch that is being served. The goroutine of the request owns all of it: it waits for the log, reads a
// page, makes the frames and writes them. There is no queue, so a slow client holds up nobody.
type stream struct {
	out    outlet
	log    *watchlog.Log
	res    *watchlog.Resource
	sel    *selection
	frames framer
	reader *watchlog.Reader // nil until begun
	wake   watchlog.Signal
	events [eventsAtOnce]*watchlog.Event

	bookmarks bool // the client takes them
	deadline  time.Time
	due       time.Time // of the next bookmark; zero when there is none to come
	alarm     time.Time // when run's timer fires

	pos    uint64 // everything up to it was sent: what a bookmark may say
	inside bool   // pos is inside a gap, from where nobody can resume
	// loose is set while the last event that was sent shows a revision from which a client would not resume right
	// behind that event.
	loose bool

	sent  prometheus.Counter
	gauge prometheus.Gauge
}

func newStream(s *Server, q *read, deadline time.Time, bookmarks bool) *stream {
	t := &stream{
		out: newOutlet(q.w), log: q.log, res: q.res, frames: framer{res: q.res, shape: q.form.shape}, wake: make(watchlog.Signal, 1),
		bookmarks: bookmarks, deadline: deadline,
		sent:  s.metrics.frames.WithLabelValues(resourceLabel(q.res)),
		gauge: s.metrics.watches.WithLabelValues(resourceLabel(q.res)),
	}
	if q.form.encoding == encodeProtobuf {
		t.frames.proto = s.proto
	}
	t.gauge.Inc()
	return t
}

// close ends the reader and gives back what the stream holds.
func (t *stream) close() {
	if t.reader != nil {
		t.reader.Close()
	}
	t.out.release()
	t.gauge.Dec()
}

// open sends the header at once: the client learns that it is watching before anything happens.
func (t *stream) open(p representation) {
	h := t.out.w.Header()
	h.Set("Content-Type", p.streamType())
	if t.out.gzip {
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
	}
	t.out.w.WriteHeader(http.StatusOK)
	t.out.push()
	t.schedule(time.Now())
}

// probe finds out before the header is sent whether the first of the initial objects can be encoded. When a kind has a new
// field, mostly all of its objects have.
func (t *stream) probe(snap watchlog.Snapshot) error {
	if t.frames.proto == nil {
		return nil
	}
	for o := range t.sel.objects(snap, "") {
		_, err := t.frames.proto.message(t.res, t.frames.shape, o, o.Rev())
		return err
	}
	return nil
}

// sendInitial sends the objects of the snapshot in key order and, when marked, the bookmark that ends them.
func (t *stream) sendInitial(ctx context.Context, snap watchlog.Snapshot, marked bool) {
	sent := 0
	for o := range t.sel.objects(snap, "") {
		t.put(t.frames.appendObject(*t.out.buffer(), verbAdded, o, o.Rev()))
		sent++
		if t.out.spill(); t.out.dead || ctx.Err() != nil {
			t.out.flush()
			return
		}
	}
	t.sent.Add(float64(sent))
	if marked {
		t.put(t.frames.appendBookmark(*t.out.buffer(), snap.Rev(), true))
	}
	t.out.flush()
}

// run sends events as they come, until the context ends, the client is gone or the log can't serve the stream any
// further.
func (t *stream) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for !t.out.dead && ctx.Err() == nil {
		if err := t.drain(ctx); err != nil {
			t.fail(ctx, err)
			return
		}
		now := time.Now()
		t.beat(now)
		t.out.flush()
		t.out.release()
		if t.out.dead {
			return
		}
		t.set(timer, now)
		select {
		case <-t.wake:
		case <-timer.C:
			t.out.disarm(time.Now())
		case <-ctx.Done():
		}
	}
}

// drain makes frames of all that can be read. What it leaves in the buffer is to be flushed.
func (t *stream) drain(ctx context.Context) error {
	for !t.out.dead && ctx.Err() == nil {
		page, err := t.reader.Read(t.events[:0])
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			t.sendEvent(e, &page)
		}
		clear(page.Events)
		t.passed(&page)
		if !page.More {
			return nil
		}
	}
	return nil
}

func (t *stream) sendEvent(e *watchlog.Event, page *watchlog.Page) {
	if !t.put(t.frames.appendEvent(*t.out.buffer(), e, t.sel)) {
		return
	}
	t.sent.Inc()
	t.loose = e.Shown != e.Rev || !page.Gap.Empty()
	t.out.spill()
}

// put takes the buffer with a frame appended, and tells whether there was one.
//
// An object that can't be encoded in protobuf ends the stream without a word behind what was sent so far: the client
// comes back from where it is and gets another encoding, or the cloud's. A stream of objects that is to be one of lists
// ends before the first of them: so does kube-apiserver, which finds out when it can't encode that.
func (t *stream) put(buf []byte, err error) bool {
	b := t.out.buffer()
	switch {
	case err != nil:
		t.out.flush()
		t.out.dead = true
		return false
	case len(buf) == len(*b):
		return false
	case t.frames.shape.kind == kindPartialList:
		t.out.dead = true
	}
	*b = buf
	return true
}

// passed takes note of how far a page has brought the client, and tells it when it could not know by itself.
func (t *stream) passed(page *watchlog.Page) {
	t.pos = page.Rev
	t.inside = page.Gap.From < page.Rev && page.Rev < page.Gap.To
	if t.loose && !page.More {
		t.bookmark(time.Now())
	}
}

// fail ends the stream with an error; with nothing when its time is up or the log is gone, so that the client comes
// back from where it is, unless that is what is gone.
func (t *stream) fail(ctx context.Context, err error) {
	if ctx.Err() == nil && (!t.closed() || errors.Is(err, watchlog.ErrCompacted)) {
		b := t.out.buffer()
		*b = t.frames.appendError(*b, t.explain(err))
	}
	t.out.flush()
}

func (t *stream) closed() bool {
	select {
	case <-t.log.Done():
		return true
	default:
		return false
	}
}
