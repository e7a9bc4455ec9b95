package wire

import (
	"encoding/binary"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Open opens a stream and sends its first message with it. There must be no stream that has not ended. Errors: see Send; the
// server takes no more streams.
func (c *Conn) Open(method string, message []byte) error {
	switch {
	case c.stream != 0:
		return status.Error(codes.Internal, "a stream is open")
	case c.leaving:
		return status.Error(codes.Unavailable, "the server is going away")
	}
	s := c.take()
	first := c.last == 0
	if first {
		c.preface()
		c.last = 1
	} else {
		if !c.reset {
			_ = s.framer.WriteRSTStream(c.last, http2.ErrCodeNo) // this side of it is open
		}
		c.last += 2
	}
	c.stream, c.ended, c.reset, c.replied = c.last, nil, false, false
	c.takenStream, c.streamRoom = 0, c.peerWindow
	c.in = assembler{limit: c.in.limit}
	_ = s.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: c.stream, EndHeaders: true, BlockFragment: c.request(method)})
	return c.Send(message)
}

// preface frames what a connection begins with.
func (c *Conn) preface() {
	s, window := c.take(), uint32(c.cfg.window())
	s.out.WriteString(http2.ClientPreface)
	_ = s.framer.WriteSettings( // into memory, as all below
		http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0},
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: window},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: maxHeaders},
	)
	if window > initialWindow {
		_ = s.framer.WriteWindowUpdate(0, window-initialWindow)
	}
}

// request returns the headers of a call.
func (c *Conn) request(method string) []byte {
	scheme := "http"
	if c.rw != c.sock {
		scheme = "https"
	}
	var block block
	enc := hpack.NewEncoder(&block)
	enc.SetMaxDynamicTableSize(0)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", scheme}, {":path", method}, {":authority", c.authority},
		{"content-type", "application/grpc"}, {"user-agent", c.cfg.UserAgent}, {"te", "trailers"},
	} {
		_ = enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	return block
}

// block is a list of headers, encoded.
type block []byte

func (b *block) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

// Send sends a message, with one write if the server's windows allow it. While they don't, frames are read, and messages
// kept for Next. Errors: the stream has ended, see Next, or the connection is lost.
func (c *Conn) Send(message []byte) error {
	if c.stream == 0 {
		return c.over()
	}
	payload := make([]byte, prefixSize, prefixSize+len(message))
	binary.BigEndian.PutUint32(payload[1:], uint32(len(message)))
	payload = append(payload, message...)
	for {
		n := min(int64(len(payload)), int64(c.peerFrame), c.room, c.streamRoom)
		if n > 0 {
			if err := c.take().framer.WriteData(c.stream, false, payload[:n]); err != nil {
				return unavailable(err)
			}
			c.room, c.streamRoom = c.room-n, c.streamRoom-n
			payload = payload[n:]
		}
		if len(payload) == 0 {
			return c.flush()
		}
		if n <= 0 || c.take().out.Len() >= keptOut {
			if err := c.flush(); err != nil {
				return err
			}
		}
		if n <= 0 {
			if err := c.await(); err != nil {
				return err
			}
		}
	}
}

// await reads a frame, in the hope that it opens a window.
func (c *Conn) await() error {
	c.in.own()
	switch err := c.frame(); {
	case err == ErrWoken: //nolint:errorlint // it is never wrapped
		c.woken = true
	case err != nil:
		return err
	}
	if c.stream == 0 {
		return c.ended
	}
	return nil
}
