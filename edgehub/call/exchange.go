package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// exchange is one request and its answer. It belongs to the goroutine of the request, but for what upload does.
type exchange struct {
	c      *Client
	w      http.ResponseWriter
	rc     *http.ResponseController
	r      *http.Request
	cancel context.CancelCauseFunc

	stream   tombolov1.CallService_CallClient
	answer   *tombolov1.CallAnswer
	hijacked bool
	trailer  bool // the stream has ended, so that there is a trailer

	uploads  sync.WaitGroup
	drained  atomic.Bool           // the body was read to its end, or is read by nobody
	uploaded atomic.Bool           // and sent
	readErr  atomic.Pointer[error] // what kept it from being read to its end
}

// open begins the call and sends the request's body from then on.
func (x *exchange) open(ctx context.Context, conn grpc.ClientConnInterface, head *tombolov1.CallHead) error {
	var err error
	if x.stream, err = tombolov1.NewCallServiceClient(conn).Call(ctx); err != nil {
		return err
	}
	if err := x.stream.Send(&tombolov1.CallRequest{Message: &tombolov1.CallRequest_Head{Head: head}}); err != nil {
		return x.sendError(err)
	}
	switch {
	case x.r.Body != nil && x.r.Body != http.NoBody && x.r.ContentLength != 0:
		_ = x.rc.EnableFullDuplex() // HTTP/2 always is
		x.drained.Store(false)
		x.uploads.Go(x.upload)
		return nil
	case upgrades(x.r):
		return nil // there will be more to send
	default:
		x.uploaded.Store(true)
		return x.stream.CloseSend()
	}
}

// sendError returns why sending has failed: gRPC says so only to who receives.
func (x *exchange) sendError(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	_, err = x.stream.Recv()
	x.trailer = err != nil
	return err
}

// upload sends the body. Only a body that was read to its end is ended: else the call is cancelled, and with it the
// request.
func (x *exchange) upload() {
	if err := x.send(x.r.Body); err != nil {
		if !errors.Is(err, errUnsent) {
			x.readErr.Store(&err)
		}
		if !errors.Is(err, errUnsent) || x.r.Context().Err() != nil {
			x.cancel(err)
		}
		return
	}
	x.uploaded.Store(true)
	_ = x.stream.CloseSend() // Recv reports it
}

// errUnsent means that the hub takes no more. It may have an answer nevertheless.
var errUnsent = errors.New("the hub takes no more")

// frame is how many bytes are sent at once: half of what a message may have.
const frame = 32 << 10

var frames = sync.Pool{New: func() any { b := make([]byte, frame); return &b }}

// send sends all that can be read, as it comes.
func (x *exchange) send(from io.Reader) error {
	buf := frames.Get().(*[]byte)
	defer frames.Put(buf)
	for {
		n, err := from.Read(*buf)
		if errors.Is(err, io.EOF) {
			x.drained.Store(true)
		}
		if n > 0 {
			data := &tombolov1.CallRequest{Message: &tombolov1.CallRequest_Data{Data: (*buf)[:n]}}
			if err := x.stream.Send(data); err != nil {
				return fmt.Errorf("%w: %w", errUnsent, err)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// begin waits for the answer and checks it.
func (x *exchange) begin() error {
	m, err := x.stream.Recv()
	if err != nil {
		x.trailer = true
		if errors.Is(err, io.EOF) {
			err = errNoAnswer
		}
		return err
	}
	a := m.GetAnswer()
	switch code := a.GetStatus(); {
	case a == nil:
		return errors.New("the hub's first message is not an answer")
	case code == http.StatusSwitchingProtocols && !upgrades(x.r), code < 200 && code != http.StatusSwitchingProtocols, code > 999:
		return fmt.Errorf("the hub answers with status %d", code)
	}
	x.answer = a
	return nil
}

// finish passes the answer on. An error means that it is cut short.
func (x *exchange) finish(ctx context.Context) error {
	if x.answer.GetStatus() == http.StatusSwitchingProtocols {
		return x.upgrade(ctx)
	}
	sized := x.writeHeader()
	if !sized {
		if err := x.rc.Flush(); err != nil {
			return err
		}
	}
	defer func() { _ = x.rc.SetWriteDeadline(time.Time{}) }()
	for {
		data, err := x.receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_ = x.rc.SetWriteDeadline(time.Now().Add(x.c.cfg.Patience)) // what has none does without
		if _, err := x.w.Write(data); err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
			return err
		}
		if err := x.rc.Flush(); err != nil {
			return err
		}
	}
}

// writeHeader writes the header and tells whether it says how long the answer is.
func (x *exchange) writeHeader() (sized bool) {
	h := x.w.Header()
	for _, f := range x.answer.GetHeader() {
		h[http.CanonicalHeaderKey(f.GetName())] = f.GetValues()
	}
	if _, ok := h["Content-Type"]; !ok {
		h["Content-Type"] = nil // or net/http guesses one
	}
	if !x.uploaded.Load() && x.r.ProtoMajor == 1 {
		h.Set("Connection", "close") // what is left of the body must not be taken for the next request
	}
	x.w.WriteHeader(int(x.answer.GetStatus()))
	_, sized = h["Content-Length"]
	return sized
}

// receive returns the next part of the answer; io.EOF behind the last one.
func (x *exchange) receive() ([]byte, error) {
	m, err := x.stream.Recv()
	if err != nil {
		return nil, err
	}
	d, ok := m.GetMessage().(*tombolov1.CallResponse_Data)
	if !ok {
		return nil, fmt.Errorf("the hub sent a %T behind the answer", m.GetMessage())
	}
	return d.Data, nil
}

// end ends the call and waits for the upload. What ends a read of the body that waits for the client ends, with HTTP/1,
// the context of the connection's requests as well: of those to come too, so that there must be none.
func (x *exchange) end() {
	x.cancel(nil)
	if !x.drained.Load() && !x.hijacked {
		if x.answer == nil && x.r.ProtoMajor == 1 {
			x.w.Header().Set("Connection", "close") // with an answer, writeHeader has said so
		}
		_ = x.rc.SetReadDeadline(time.Unix(1, 0))
	}
	x.uploads.Wait()
}

// bodyErr returns what kept the request's body from being read.
func (x *exchange) bodyErr() error {
	if err := x.readErr.Load(); err != nil {
		return *err
	}
	return nil
}

// nothingSent tells whether the hub has said that nothing of the request has reached the API server.
func (x *exchange) nothingSent() bool {
	return x.trailer && len(x.stream.Trailer().Get(nothingSent)) > 0
}
