package wire

import (
	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// giveWindow lets the server send more once half of what it might is used up.
func (c *Conn) giveWindow() error {
	half := c.cfg.window() / 2
	if c.taken < half && c.takenStream < half {
		return nil
	}
	w := c.take().framer
	if c.taken > 0 {
		_ = w.WriteWindowUpdate(0, uint32(c.taken)) // into memory
	}
	if c.takenStream > 0 {
		_ = w.WriteWindowUpdate(c.stream, uint32(c.takenStream))
	}
	c.taken, c.takenStream = 0, 0
	return c.flush()
}

// windowUpdate lets the client send more.
func (c *Conn) windowUpdate(f *http2.WindowUpdateFrame) error {
	switch f.StreamID {
	case 0:
		c.room += int64(f.Increment)
	case c.stream:
		c.streamRoom += int64(f.Increment)
	}
	if c.room > maxWindow || c.streamRoom > maxWindow {
		return status.Error(codes.Internal, "the server opens its window too far")
	}
	return nil
}

// setting takes over one of the server's settings. Those that are not listed bind servers, or what a client does not do.
func (c *Conn) setting(s http2.Setting) error {
	if err := s.Valid(); err != nil {
		return err
	}
	switch s.ID {
	case http2.SettingInitialWindowSize:
		c.streamRoom += int64(s.Val) - c.peerWindow // may fall below 0 (RFC 9113, section 6.9.2)
		c.peerWindow = int64(s.Val)
	case http2.SettingMaxFrameSize:
		c.peerFrame = min(int(s.Val), 4*frameSize)
	}
	return nil
}
