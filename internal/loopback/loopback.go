// Package loopback calls an http.Handler as if it were a server, without a connection.
package loopback

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
)

// Transport is an http.RoundTripper whose answers come from a handler. Bodies are streamed both ways and nothing is
// buffered: what the handler writes waits until it is read. A handler is told to stop, by its request's context, when
// the answer's body is closed or the request cancelled. Connections can't be hijacked and have no deadlines.
type Transport struct {
	Handler http.Handler
	Logger  *slog.Logger // of panics
}

// RoundTrip calls the handler and returns once it has begun to answer. Errors: the context's. The answer's body ends with
// io.ErrUnexpectedEOF when the handler has panicked.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	read, write := io.Pipe()
	w := &writer{head: http.Header{}, body: write, begun: make(chan struct{}), mute: r.Method == http.MethodHead}
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.serve(w, serverRequest(ctx, r))
	}()
	body := &answerBody{PipeReader: read, cancel: cancel, done: done}
	select {
	case <-w.begun:
	case <-ctx.Done():
		err := ctx.Err()
		_ = body.Close()
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = read.CloseWithError(context.Canceled) })
	return &http.Response{
		Status: http.StatusText(w.code), StatusCode: w.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: body, ContentLength: -1, Request: r,
	}, nil
}

// serverRequest returns a request as a server would give it to a handler.
func serverRequest(ctx context.Context, r *http.Request) *http.Request {
	out := r.Clone(ctx)
	out.RequestURI = r.URL.RequestURI()
	out.RemoteAddr = "loopback"
	if out.Host == "" {
		out.Host = "loopback"
	}
	out.Body = http.NoBody
	if r.Body != nil && r.Body != http.NoBody {
		out.Body = pump(ctx, r.Body)
	}
	return out
}

// pump returns a body that can be given up while it is being read. As with any RoundTripper, what it is read from may be
// read a little longer than the call lasts.
func pump(ctx context.Context, from io.ReadCloser) io.ReadCloser {
	read, write := io.Pipe()
	go func() {
		_, err := io.Copy(write, from)
		_ = write.CloseWithError(err) // io.EOF for nil
		_ = from.Close()
	}()
	context.AfterFunc(ctx, func() { _ = read.CloseWithError(context.Canceled) })
	return read
}

func (t *Transport) serve(w *writer, r *http.Request) {
	end := io.ErrUnexpectedEOF
	defer func() {
		if v := recover(); v != nil && v != http.ErrAbortHandler { //nolint:errorlint // it is compared by net/http too
			t.Logger.Error("request panicked", "method", r.Method, "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
		}
		w.end(end)
	}()
	t.Handler.ServeHTTP(w, r)
	end = nil
}

// answerBody is the body of an answer. Closing it ends the handler and waits for that.
type answerBody struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   chan struct{}
}

// Close ends the handler.
func (b *answerBody) Close() error {
	b.cancel()
	err := b.PipeReader.Close()
	<-b.done
	return err
}

// writer is what the handler writes to.
type writer struct {
	head  http.Header // the handler's
	body  *io.PipeWriter
	begun chan struct{} // closed when the answer has begun; code and sent are set then
	mute  bool          // no body is sent
	once  sync.Once
	code  int
	sent  http.Header
}

// Header returns the header, which counts until the answer has begun.
func (w *writer) Header() http.Header { return w.head }

// WriteHeader begins the answer. Informational codes are ignored.
func (w *writer) WriteHeader(code int) {
	if code < 200 {
		return
	}
	w.once.Do(func() {
		w.code, w.sent = code, w.head.Clone()
		for name := range w.sent {
			if strings.HasPrefix(name, http.TrailerPrefix) {
				delete(w.sent, name)
			}
		}
		close(w.begun)
	})
}

// Write waits until what it writes was read.
func (w *writer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if len(p) == 0 || w.mute {
		return len(p), nil
	}
	return w.body.Write(p)
}

// FlushError begins the answer; there is no buffer that could be flushed.
func (w *writer) FlushError() error {
	w.WriteHeader(http.StatusOK)
	return nil
}

// Flush is the same for handlers that look for http.Flusher.
func (w *writer) Flush() { _ = w.FlushError() }

// end ends the answer. One that has not begun is a 200 when the handler has returned, and a 500 when it has panicked.
func (w *writer) end(err error) {
	if err == nil {
		w.WriteHeader(http.StatusOK)
	} else {
		w.WriteHeader(http.StatusInternalServerError)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		_ = w.body.CloseWithError(err)
		return
	}
	_ = w.body.Close()
}
