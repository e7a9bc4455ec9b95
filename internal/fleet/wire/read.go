package wire

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errTimeout is returned when the deadline has passed and no frame was under way.
var errTimeout = status.Error(codes.DeadlineExceeded, "the server has not answered in time")

// Next returns the next message of the stream, which is valid until another method is called. Errors: io.EOF when the
// server has ended the stream with the code OK, ErrWoken, or one with a gRPC status: the server's, with which it has ended the
// stream, or why the connection is of no use any more.
func (c *Conn) Next() ([]byte, error) {
	for {
		switch m, err := c.in.next(); {
		case err != nil:
			return nil, err
		case m != nil:
			return m, nil
		case c.stream == 0:
			return nil, c.over()
		case c.woken:
			c.woken = false
			return nil, ErrWoken
		}
		if err := c.giveWindow(); err != nil {
			return nil, err
		}
		c.release()
		if err := c.frame(); err != nil {
			return nil, err
		}
	}
}

// over returns how the stream has ended.
func (c *Conn) over() error {
	c.release()
	if c.ended == nil {
		return status.Error(codes.Internal, "no stream is open")
	}
	return c.ended
}

// frame reads one frame and does what it asks for. It fails with ErrWoken or errTimeout, when no frame has begun, or
// because the connection is lost.
func (c *Conn) frame() error {
	if err := c.header(); err != nil {
		return err
	}
	s := c.take()
	s.src.head = c.head[:]
	f, err := s.framer.ReadFrame()
	if err == nil {
		err = c.handle(f)
	}
	if err == nil {
		return c.flush()
	}
	c.s = nil // whatever state the framer is in
	if _, ok := status.FromError(err); ok {
		return err
	}
	if detail := s.framer.ErrorDetail(); detail != nil {
		err = detail
	}
	return unavailable(err)
}

// header waits for a frame's header.
func (c *Conn) header() error {
	for have := 0; have < len(c.head); {
		n, err := c.read(c.head[have:])
		switch have += n; {
		case err == nil:
		case errors.Is(err, ErrWoken) && have > 0:
			c.woken = true
		case errors.Is(err, ErrWoken), errors.Is(err, errTimeout) && have == 0:
			return err
		case errors.Is(err, io.EOF):
			return status.Error(codes.Unavailable, "the server has closed the connection")
		default:
			return unavailable(err)
		}
	}
	return nil
}

// read reads from the connection. It fails with ErrWoken when Wake was called, with errTimeout when the deadline has passed.
// crypto/tls keeps what it has of a record across both.
func (c *Conn) read(b []byte) (int, error) {
	n, err := c.rw.Read(b)
	if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	if !c.deadline.IsZero() && !time.Now().Before(c.deadline) {
		return n, errTimeout
	}
	_ = c.sock.SetReadDeadline(c.deadline)
	return n, ErrWoken
}

// handle does what a frame asks for. What is to be written is framed, and not flushed yet.
func (c *Conn) handle(f http2.Frame) error {
	w := c.s.framer
	switch f := f.(type) {
	case *http2.DataFrame:
		return c.data(f)
	case *http2.MetaHeadersFrame:
		return c.headers(f)
	case *http2.RSTStreamFrame:
		if f.StreamID == c.stream && c.stream != 0 {
			c.reset = true
			c.end(resetStatus(f.ErrCode))
		} else if f.StreamID == c.last {
			c.reset = true
		}
		return nil
	case *http2.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		if err := f.ForeachSetting(c.setting); err != nil {
			return err
		}
		return w.WriteSettingsAck()
	case *http2.PingFrame:
		if f.IsAck() {
			return nil
		}
		return w.WritePing(true, f.Data)
	case *http2.WindowUpdateFrame:
		return c.windowUpdate(f)
	case *http2.GoAwayFrame:
		c.leaving = true
		if c.stream > f.LastStreamID {
			c.end(status.Errorf(codes.Unavailable, "the server is going away: %s %s", f.ErrCode, f.DebugData()))
		}
		return nil
	case *http2.PushPromiseFrame:
		return status.Error(codes.Internal, "the server pushes, which was not agreed on")
	default:
		return nil // of no concern (RFC 9113, section 5.5)
	}
}

// data takes the payload of a DATA frame.
func (c *Conn) data(f *http2.DataFrame) error {
	c.taken += int(f.Length)
	if f.StreamID != c.stream {
		return nil // of a stream that has ended
	}
	if c.takenStream += int(f.Length); c.takenStream > c.cfg.window() || c.taken > c.cfg.window() {
		return status.Error(codes.Internal, "the server sends more than the window allows")
	}
	if !c.replied {
		return status.Error(codes.Internal, "the server sends data before headers")
	}
	c.in.add(f.Data())
	if f.StreamEnded() {
		c.end(status.Error(codes.Internal, "the server has ended the stream without a status"))
	}
	return nil
}

// headers takes headers or trailers.
func (c *Conn) headers(f *http2.MetaHeadersFrame) error {
	switch {
	case f.StreamID != c.stream:
		return nil
	case f.Truncated:
		return status.Error(codes.Internal, "the server's headers are too long")
	case f.StreamEnded():
		c.end(trailerStatus(f.Fields, c.replied))
		return nil
	case c.replied:
		return status.Error(codes.Internal, "the server sends headers twice")
	}
	http := f.PseudoValue("status")
	if len(http) == 3 && http[0] == '1' {
		return nil // informational
	}
	if err := answerStatus(http, f.RegularFields()); err != nil {
		c.end(err)
		return nil
	}
	c.replied = true
	return nil
}

// end notes how the stream has ended.
func (c *Conn) end(err error) {
	c.stream, c.ended = 0, err
}
