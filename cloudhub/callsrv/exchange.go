package callsrv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// exchange is one request and its answer.
type exchange struct {
	srv    *Server
	stream tombolov1.CallService_CallServer
	edge   string
	head   *head
	body   *upstream
	touch  func() // puts off the end of an idle call
	code   int    // of the answer, 0 until there is one
	// refused is why we have answered in the API server's place, "" when we have not.
	refused string
}

// run sends the request and brings back the answer.
func (x *exchange) run(ctx context.Context) error {
	if name, ok := impersonates(x.head.header); ok && !x.head.own {
		return x.refuse(noImpersonation(x.edge, name))
	}
	if x.head.length > x.srv.cfg.MaxBody {
		return x.refuse(tooLarge(x.srv.cfg.MaxBody))
	}
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	resp, err := x.transport().RoundTrip(x.request(ctx))
	if err != nil {
		return x.unanswered(err, sent.Load())
	}
	defer resp.Body.Close() //nolint:errcheck // what matters was read
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return x.upgraded(resp)
	}
	dropConnection(resp.Header)
	if err := x.answer(resp.StatusCode, resp.Header); err != nil {
		return err
	}
	return x.download(resp.Body)
}

// transport returns the way for whom the request is from.
func (x *exchange) transport() http.RoundTripper {
	if x.head.own {
		return x.srv.cfg.Cloud.Caller()
	}
	return x.srv.cfg.Cloud.Edge(x.edge)
}

func (x *exchange) request(ctx context.Context) *http.Request {
	req := &http.Request{
		Method: x.head.method, URL: x.head.url, Header: x.head.header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: x.head.length, Body: x.body,
	}
	if x.head.length == 0 {
		req.Body = http.NoBody
	}
	return req.WithContext(ctx)
}

// NothingSent is the key of a trailer that is there when a call has failed before anything of the request went to the API
// server.
const NothingSent = "tombolo-nothing-sent"

// unanswered explains why there is no answer.
func (x *exchange) unanswered(err error, sent bool) error {
	switch cause := x.body.failure(); {
	case errors.Is(cause, errTooLarge):
		return x.refuse(tooLarge(x.srv.cfg.MaxBody))
	case cause != nil:
		return cause
	case sent:
		return status.Errorf(codes.Unknown, "the API server has not answered: %v", err)
	}
	x.stream.SetTrailer(metadata.Pairs(NothingSent, "true"))
	return status.Errorf(codes.Unavailable, "the API server can't be reached: %v", err)
}

// answer sends the beginning of an answer.
func (x *exchange) answer(code int, h http.Header) error {
	x.code = code
	a := &tombolov1.CallAnswer{Status: uint32(code)}
	for name, values := range h {
		a.Header = append(a.Header, &tombolov1.Header{Name: name, Values: values})
	}
	x.touch()
	return x.stream.Send(&tombolov1.CallResponse{Message: &tombolov1.CallResponse_Answer{Answer: a}})
}

// frame is how many bytes are read at once: half of what a message may have.
const frame = maxFrame / 2

var frames = sync.Pool{New: func() any { b := make([]byte, frame); return &b }}

// download sends what is read, as it comes. Sending waits while the edge does not take it.
func (x *exchange) download(from io.Reader) error {
	buf := frames.Get().(*[]byte)
	defer frames.Put(buf)
	for {
		n, err := from.Read(*buf)
		if n > 0 {
			x.touch()
			data := &tombolov1.CallResponse{Message: &tombolov1.CallResponse_Data{Data: (*buf)[:n]}}
			if err := x.stream.Send(data); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the answer is cut short: %w", err)
		}
	}
}

// upgraded passes bytes both ways until the API server has no more, or either side is gone.
func (x *exchange) upgraded(resp *http.Response) error {
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if !ok || x.head.upgrade == "" {
		return status.Error(codes.Unknown, "the API server changed the protocol without being asked")
	}
	upgrade := upgradeOf(resp.Header)
	dropConnection(resp.Header)
	resp.Header["Connection"], resp.Header["Upgrade"] = []string{"Upgrade"}, []string{upgrade}
	if err := x.answer(resp.StatusCode, resp.Header); err != nil {
		return err
	}
	x.body.left = -1
	// The copy ends with the stream, which ends when this call returns.
	x.srv.tasks.Go(func() { x.upload(conn) })
	return x.download(conn)
}

// upload passes on what the edge sends. The end of that is the end of one direction only, anything else of both.
func (x *exchange) upload(conn io.ReadWriteCloser) {
	buf := frames.Get().(*[]byte)
	defer frames.Put(buf)
	_, err := io.CopyBuffer(onlyWriter{conn}, x.body, *buf)
	if half, ok := conn.(interface{ CloseWrite() error }); ok && err == nil && half.CloseWrite() == nil {
		return
	}
	_ = conn.Close() // download ends with it
}

// onlyWriter hides ReadFrom, so that the buffer is used.
type onlyWriter struct{ io.Writer }
