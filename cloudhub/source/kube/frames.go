package kube

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// maxFrame bounds one event of a watch. etcd holds objects of 1.5 MiB; JSON can be a few times that.
const maxFrame = 32 << 20

var (
	// errEndedEarly is a WatchList that ended before it was whole. client-go would start over at once, for ever; as an
	// error it makes it list instead.
	errEndedEarly = errors.New("the watch ended within the initial events")
	// errTooLong is an event that has more than maxFrame bytes.
	errTooLong = fmt.Errorf("an event has more than %d bytes", maxFrame)
	// errAsked is a watch that was ended because everything has to be read again.
	errAsked = errors.New("the watch was given up")
)

// frames decodes the events of a watch response: one line of JSON each, {"type":"ADDED","object":{…}}. The bytes of an
// object stay as they are. It implements watch.Decoder; Decode is for one goroutine, Close for any.
type frames struct {
	ctx    context.Context // of the request
	cancel func()          // ends it
	body   io.Closer
	r      *bufio.Reader
	lw     *listWatch

	rows    *rowJoiner
	long    []byte // a line that outgrew r's buffer
	initial bool   // the events that say what exists have not all come yet
	moved   bool   // something came behind them
	// resuming is set until the stream has shown that it goes on from where the last one ended.
	resuming bool
	due      time.Time // before it the server does not end the watch of its own accord; zero when it may
}

func newFrames(ctx context.Context, cancel func(), body io.ReadCloser, lw *listWatch) *frames {
	r := bufio.NewReaderSize(body, 64<<10)
	return &frames{ctx: ctx, cancel: cancel, body: body, r: r, lw: lw, rows: lw.joiner()}
}

// Close ends the watch; a Decode that waits returns with an error.
func (f *frames) Close() {
	f.cancel()
	_ = f.body.Close() // the stream is given up, whatever it says
}

// Decode waits for the next event. io.EOF, io.ErrUnexpectedEOF and an ERROR event of code 429 say that the watch ended and
// may be resumed from the last event; after any other error it may not.
func (f *frames) Decode() (watch.EventType, runtime.Object, error) {
	line, err := f.line()
	if err != nil {
		return f.ended(err)
	}
	initial := f.initial
	kind, object, err := f.event(line)
	if err != nil {
		f.lw.health.requestFailed(err)
	}
	if f.resuming && err == nil && kind != watch.Error {
		f.resuming = false
		f.lw.health.resumed()
	}
	f.moved = f.moved || !initial
	return kind, object, err
}

// ended returns what the reflector should make of a stream that ended with err. A connection that broke takes nothing
// back: what came before it counts, and the next watch goes on from there.
func (f *frames) ended(err error) (watch.EventType, runtime.Object, error) {
	switch {
	case f.lw.relist.wanted():
		return "", nil, errAsked
	case f.ctx.Err() != nil:
		return "", nil, io.EOF // closed on this side
	case f.initial:
		f.lw.health.requestFailed(fmt.Errorf("%w: %w", errEndedEarly, err))
		return "", nil, errEndedEarly
	case errors.Is(err, errTooLong):
		f.lw.health.requestFailed(err)
		return "", nil, err
	case !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		f.lw.health.requestFailed(fmt.Errorf("watch: %w", err))
		err = io.ErrUnexpectedEOF
	case f.lw.past != nil && time.Now().Before(f.due):
		f.lw.past.doubt() // the API server is going down in good order
	}
	if f.moved {
		return "", nil, err
	}
	// A watch that brought nothing would make the reflector list ("very short watch"). It has lost nothing either: this
	// makes it back off and resume.
	return watch.Error, retryInPlace("the watch ended at once"), nil
}

func (f *frames) event(line []byte) (watch.EventType, runtime.Object, error) {
	kind, raw, err := splitFrame(line)
	if err != nil {
		return "", nil, err
	}
	switch kind {
	case watch.Added, watch.Modified, watch.Deleted:
		o, err := f.object(raw)
		if err != nil {
			return "", nil, err
		}
		return kind, newItem(o), nil
	case watch.Bookmark:
		row, err := f.row(raw)
		if err != nil {
			return "", nil, err
		}
		b, err := f.bookmark(row.Object)
		return kind, b, err
	case watch.Error:
		s, err := f.failure(raw)
		return kind, s, err
	default:
		return "", nil, fmt.Errorf("unknown event type %.40q", kind)
	}
}

// object returns the object of an event, in memory of its own.
func (f *frames) object(raw []byte) (*watchlog.Object, error) {
	if f.lw.printer == nil {
		return f.lw.dec.Decode(bytes.Clone(raw))
	}
	row, err := f.row(raw)
	if err != nil {
		return nil, err
	}
	return f.rows.join(row)
}

// row returns the row of the table in an event, or what stands in its place when no tables are asked for.
func (f *frames) row(raw []byte) (rawRow, error) {
	if f.lw.printer == nil {
		return rawRow{Object: raw}, nil
	}
	if !isTable(raw) {
		return rawRow{}, f.lw.otherTable()
	}
	columns, row, err := splitTable(raw)
	if err == nil && !definedAs(columns, f.lw.resource) {
		err = f.lw.otherTable()
	}
	return row, err
}

// failure decodes an ERROR event.
func (f *frames) failure(raw []byte) (*metav1.Status, error) {
	s := &metav1.Status{}
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, fmt.Errorf("error event: %w", err)
	}
	f.lw.health.requestFailed(apierrors.FromObject(s))
	return s, nil
}

func (f *frames) bookmark(raw []byte) (runtime.Object, error) {
	b := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(raw, b); err != nil {
		return nil, fmt.Errorf("bookmark: %w", err)
	}
	if b.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
		f.initial = false
	}
	return b, nil
}

// line returns the next line without its end. It is valid until the next call.
func (f *frames) line() ([]byte, error) {
	if cap(f.long) > 4<<20 {
		f.long = nil // one huge event is no reason to keep its room
	}
	f.long = f.long[:0]
	for {
		part, err := f.r.ReadSlice('\n')
		if err == nil && len(f.long) == 0 {
			return bytes.TrimSpace(part), nil
		}
		f.long = append(f.long, part...)
		switch {
		case err == nil:
			return bytes.TrimSpace(f.long), nil
		case errors.Is(err, io.EOF) && len(f.long) > 0:
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(f.long) > maxFrame:
			return nil, errTooLong
		}
	}
}

// splitFrame returns an event's type and the bytes of its object, which are part of line. It does not look into the
// object: that is the decoder's part.
func splitFrame(line []byte) (watch.EventType, []byte, error) {
	const head, middle = `{"type":"`, `","object":`
	if rest, ok := bytes.CutPrefix(line, []byte(head)); ok && bytes.HasSuffix(rest, []byte("}")) {
		kind, object, ok := bytes.Cut(rest[:len(rest)-1], []byte(middle))
		if ok && !bytes.ContainsAny(kind, `"\`) {
			return watch.EventType(kind), object, nil
		}
	}
	var e metav1.WatchEvent // another order or spacing than kube-apiserver's
	if err := json.Unmarshal(line, &e); err != nil {
		return "", nil, fmt.Errorf("event: %w", err)
	}
	return watch.EventType(e.Type), e.Object.Raw, nil
}
