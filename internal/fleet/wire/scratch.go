package wire

import (
	"bytes"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// scratch is what is needed to read and write frames, between one wait and the next. Nothing of one connection is left in
// it for the next one: what a framer knows of the frames before is over when a list of headers is complete, and header
// tables are not used.
type scratch struct {
	framer *http2.Framer
	src    source
	out    bytes.Buffer
}

// keptOut is how much memory for writing a scratch keeps.
const keptOut = 64 << 10

var scratches = sync.Pool{New: func() any {
	s := &scratch{}
	s.framer = http2.NewFramer(&s.out, &s.src)
	s.framer.SetReuseFrames()
	s.framer.SetMaxReadFrameSize(frameSize)
	s.framer.MaxHeaderListSize = maxHeaders
	s.framer.ReadMetaHeaders = hpack.NewDecoder(0, nil)
	return s
}}

// take gives the connection a scratch, unless it has one.
func (c *Conn) take() *scratch {
	if c.s == nil {
		c.s = scratches.Get().(*scratch) //nolint:forcetypeassert // what New returns
		c.s.src = source{conn: c}
	}
	return c.s
}

// release gives it back, before a wait.
func (c *Conn) release() {
	if c.s == nil {
		return
	}
	c.in.own()
	s := c.s
	c.s = nil
	if s.src = (source{}); s.out.Cap() > keptOut {
		s.out = bytes.Buffer{}
	}
	s.out.Reset()
	scratches.Put(s)
}

// flush writes what was framed.
func (c *Conn) flush() error {
	s := c.take()
	if s.out.Len() == 0 {
		return nil
	}
	_, err := c.rw.Write(s.out.Bytes())
	s.out.Reset()
	if err != nil {
		return unavailable(err)
	}
	return nil
}

// source is what a framer reads: the header of a frame, which has come, then the connection.
type source struct {
	conn *Conn
	head []byte
}

func (s *source) Read(b []byte) (int, error) {
	if len(s.head) > 0 {
		n := copy(b, s.head)
		s.head = s.head[n:]
		return n, nil
	}
	for {
		n, err := s.conn.read(b)
		if n > 0 || err != ErrWoken { //nolint:errorlint // it is never wrapped
			return n, err
		}
		s.conn.woken = true // for later: a frame is read to its end
	}
}
