package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// peer is the other end of a connection, frame by frame.
type peer struct {
	*http2.Framer
	net.Conn
}

// meet returns a connection that has opened a stream, and its other end, which has read what the client began with.
func meet(t *testing.T, cfg Config, settings ...http2.Setting) (*Conn, *peer) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close() //nolint:errcheck // nobody else comes
	c := dial(t, lis.Addr().String(), cfg)
	conn, err := lis.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	p := &peer{http2.NewFramer(conn, conn), conn}
	if err := c.Open("/s/m", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		t.Fatal(err)
	}
	must(t, p.WriteSettings(settings...))
	p.until(t, func(f http2.Frame) bool { return f.Header().Type == http2.FrameData })
	return c, p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until reads frames until there is the one that is waited for.
func (p *peer) until(t *testing.T, found func(http2.Frame) bool) http2.Frame {
	t.Helper()
	for {
		f, err := p.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if found(f) {
			return f
		}
	}
}

// fields encodes headers.
func fields(t testing.TB, pairs ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	enc.SetMaxDynamicTableSize(0)
	for i := 0; i < len(pairs); i += 2 {
		if err := enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func (p *peer) headers(t *testing.T, end bool, pairs ...string) {
	t.Helper()
	must(t, p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: fields(t, pairs...), EndHeaders: true, EndStream: end}))
}

func (p *peer) reply(t *testing.T) {
	t.Helper()
	p.headers(t, false, ":status", "200", "content-type", "application/grpc")
}

// framed puts the prefix before a message.
func framed(message string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

func TestTinyWindows(t *testing.T) {
	c, p := meet(t, Config{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 20})
	p.reply(t)
	must(t, p.WriteData(1, false, framed("one")))
	mustNext(t, c, []byte("one")) // by then the settings have come
	want := framed(strings.Repeat("0123456789", 20))
	got := make(chan []byte, 1)
	go func() {
		var all []byte
		for len(all) < len(want) {
			f, err := p.ReadFrame()
			if err != nil {
				break
			}
			if d, ok := f.(*http2.DataFrame); ok {
				all = append(all, d.Data()...)
				_ = p.WriteData(1, false, framed("between")) // messages come while the client waits for its window
				_ = p.WriteWindowUpdate(1, uint32(len(d.Data())))
			}
		}
		got <- all
	}()
	must(t, c.Send(want[prefixSize:]))
	if all := <-got; !bytes.Equal(all, want) {
		t.Errorf("%q was sent, want %q", all, want)
	}
	for range 3 {
		mustNext(t, c, []byte("between"))
	}
}

// TestAFloodIsBounded: while the client waits for a window, the server may send no more than its own.
func TestAFloodIsBounded(t *testing.T) {
	c, p := meet(t, Config{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 20})
	p.reply(t)
	must(t, p.WriteData(1, false, framed("one")))
	mustNext(t, c, []byte("one"))
	for range 5 {
		must(t, p.WriteData(1, false, make([]byte, frameSize)))
	}
	if err := c.Send(make([]byte, 100)); status.Code(err) != codes.Internal {
		t.Error(err)
	}
}

func TestWindowsAreGivenBackSeldom(t *testing.T) {
	c, p := meet(t, Config{Window: 64 << 10})
	p.reply(t)
	const size, frames = 8 << 10, 40
	payload := make([]byte, size)
	binary.BigEndian.PutUint32(payload[1:], size-11-prefixSize)
	done := make(chan [2]int, 1)
	go func() {
		given, updates := 0, 0
		for sent := 0; sent < frames*size; sent += size {
			for sent+size > initialWindow+given {
				f, err := p.ReadFrame()
				if err != nil {
					break
				}
				if u, ok := f.(*http2.WindowUpdateFrame); ok && u.StreamID == 1 {
					given, updates = given+int(u.Increment), updates+1
				}
			}
			_ = p.WriteDataPadded(1, false, payload[:size-11], make([]byte, 10)) // padding counts
		}
		done <- [2]int{given, updates}
	}()
	for range frames {
		if _, err := c.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if r := <-done; r[1] > frames*size/(initialWindow/2) {
		t.Errorf("%d bytes of window were given back in %d updates", r[0], r[1])
	}
}

func TestContinuationsPaddingAndUnknownFrames(t *testing.T) {
	c, p := meet(t, Config{})
	block := fields(t, ":status", "200", "content-type", "application/grpc+proto", "x", strings.Repeat("y", 200))
	must(t, p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:3], PadLength: 9}))
	must(t, p.WriteContinuation(1, false, block[3:100]))
	must(t, p.WriteContinuation(1, true, block[100:]))
	must(t, p.WriteRawFrame(0x42, 0, 1, []byte("what?")))
	must(t, p.WritePriority(1, http2.PriorityParam{}))
	must(t, p.WriteData(7, false, framed("of another stream")))
	stream := append(framed("one"), framed("")...)
	stream = append(stream, framed("three")...)
	for i := range stream { // byte by byte
		must(t, p.WriteDataPadded(1, false, stream[i:i+1], make([]byte, i)))
	}
	must(t, p.WritePing(false, [8]byte{1, 2, 3}))
	p.headers(t, true, "grpc-status", "9", "grpc-message", "a%20b")
	for _, want := range []string{"one", "", "three"} {
		mustNext(t, c, []byte(want))
	}
	if _, err := c.Next(); status.Code(err) != codes.FailedPrecondition || status.Convert(err).Message() != "a b" {
		t.Error(err)
	}
	f := p.until(t, func(f http2.Frame) bool { return f.Header().Type == http2.FramePing })
	if ping := f.(*http2.PingFrame); !ping.IsAck() || ping.Data != [8]byte{1, 2, 3} { //nolint:forcetypeassert // seen above
		t.Errorf("the ping was answered with %v", ping)
	}
}

func TestHowAStreamEnds(t *testing.T) {
	ok := func(t *testing.T, p *peer) { p.reply(t) }
	for name, c := range map[string]struct {
		end  func(*testing.T, *peer)
		want codes.Code
	}{
		"refused":     {func(t *testing.T, p *peer) { must(t, p.WriteRSTStream(1, http2.ErrCodeRefusedStream)) }, codes.Unavailable},
		"cancelled":   {func(t *testing.T, p *peer) { ok(t, p); must(t, p.WriteRSTStream(1, http2.ErrCodeCancel)) }, codes.Canceled},
		"reset":       {func(t *testing.T, p *peer) { must(t, p.WriteRSTStream(1, http2.ErrCodeProtocol)) }, codes.Internal},
		"goaway":      {func(t *testing.T, p *peer) { must(t, p.WriteGoAway(0, http2.ErrCodeNo, nil)) }, codes.Unavailable},
		"no gRPC":     {func(t *testing.T, p *peer) { p.headers(t, true, ":status", "403") }, codes.PermissionDenied},
		"no type":     {func(t *testing.T, p *peer) { p.headers(t, false, ":status", "200") }, codes.Unknown},
		"HTML":        {func(t *testing.T, p *peer) { p.headers(t, false, ":status", "200", "content-type", "text/html") }, codes.Unknown},
		"no status":   {func(t *testing.T, p *peer) { ok(t, p); p.headers(t, true, "x", "y") }, codes.Internal},
		"no trailers": {func(t *testing.T, p *peer) { ok(t, p); must(t, p.WriteData(1, true, nil)) }, codes.Internal},
		"odd status":  {func(t *testing.T, p *peer) { ok(t, p); p.headers(t, true, "grpc-status", "no") }, codes.Internal},
		"bad details": {func(t *testing.T, p *peer) {
			ok(t, p)
			p.headers(t, true, "grpc-status", "5", "grpc-status-details-bin", "%")
		}, codes.NotFound},
		"other details": {func(t *testing.T, p *peer) {
			ok(t, p)
			p.headers(t, true, "grpc-status", "5", "grpc-status-details-bin", "CAM")
		}, codes.NotFound},
		"twice":      {func(t *testing.T, p *peer) { ok(t, p); ok(t, p) }, codes.Internal},
		"data first": {func(t *testing.T, p *peer) { must(t, p.WriteData(1, false, framed("x"))) }, codes.Internal},
		"compressed": {func(t *testing.T, p *peer) { ok(t, p); must(t, p.WriteData(1, false, []byte{1, 0, 0, 0, 0})) }, codes.Internal},
		"too large":  {func(t *testing.T, p *peer) { ok(t, p); must(t, p.WriteData(1, false, []byte{0, 255, 255, 255, 255})) }, codes.ResourceExhausted},
		"push": {func(t *testing.T, p *peer) {
			must(t, p.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, EndHeaders: true}))
		}, codes.Internal},
		"stray":       {func(t *testing.T, p *peer) { must(t, p.WriteContinuation(1, true, nil)) }, codes.Unavailable},
		"large frame": {func(t *testing.T, p *peer) { ok(t, p); must(t, p.WriteData(1, false, make([]byte, frameSize+1))) }, codes.Unavailable},
		"window":      {func(t *testing.T, p *peer) { must(t, p.WriteWindowUpdate(0, maxWindow)) }, codes.Internal},
		"HTTP/1":      {func(_ *testing.T, p *peer) { _, _ = io.WriteString(p, "HTTP/1.1 400 Bad Request\r\n\r\n") }, codes.Unavailable},
		"hang up":     {func(_ *testing.T, p *peer) { _ = p.Close() }, codes.Unavailable},
	} {
		conn, p := meet(t, Config{})
		c.end(t, p)
		if _, err := conn.Next(); status.Code(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, lis.Close())
	if _, err := Dial(t.Context(), lis.Addr().String(), Config{}); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Dial(ctx, "127.0.0.1:1", Config{}); err == nil {
		t.Error("a connection for nobody")
	}
}

func TestAssemblerCutsAnywhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var stream []byte
		var want, got []string
		for range rng.IntN(10) {
			m := strings.Repeat("m", rng.IntN(40))
			want, stream = append(want, m), append(stream, framed(m)...)
		}
		a := assembler{limit: 100}
		for len(stream) > 0 {
			n := 1 + rng.IntN(min(len(stream), 50))
			frame := bytes.Clone(stream[:n])
			stream = stream[n:]
			a.add(frame)
			for rng.IntN(3) > 0 || len(stream) == 0 {
				m, err := a.next()
				if err != nil {
					t.Fatal(err)
				}
				if m == nil {
					break
				}
				got = append(got, string(m))
			}
			a.own()
			clear(frame)
		}
		if strings.Join(got, ",") != strings.Join(want, ",") || len(got) != len(want) {
			t.Fatalf("%q came out, want %q", got, want)
		}
	}
}

// canned is a connection on which the peer says what it was given, and takes everything.
type canned struct {
	net.Conn
	r io.Reader
	n int
}

func (c *canned) Read(b []byte) (int, error)      { return c.r.Read(b) }
func (c *canned) Write(b []byte) (int, error)     { c.n += len(b); return len(b), nil }
func (c *canned) Close() error                    { return nil }
func (c *canned) SetDeadline(time.Time) error     { return nil }
func (c *canned) SetReadDeadline(time.Time) error { return nil }

// FuzzConn: whatever a server sends, the connection ends in an error, and takes no more memory than was sent, but for a factor.
func FuzzConn(f *testing.F) {
	var b bytes.Buffer
	w := http2.NewFramer(&b, nil)
	_ = w.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1000})
	_ = w.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: fields(f, ":status", "200", "content-type", "application/grpc")})
	_ = w.WriteData(1, false, append(framed("one"), framed("two")...))
	_ = w.WriteDataPadded(1, false, []byte{0, 0, 1, 0}, []byte{0})
	_ = w.WritePing(false, [8]byte{})
	_ = w.WriteWindowUpdate(1, 5)
	_ = w.WriteGoAway(1, http2.ErrCodeNo, nil)
	f.Add(b.Bytes(), uint16(0))
	_ = w.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, EndStream: true, BlockFragment: fields(f,
		"grpc-status", "8", "grpc-message", "no%21", "grpc-status-details-bin", "CAgSAm5v")})
	f.Add(b.Bytes(), uint16(5000))
	f.Fuzz(func(t *testing.T, raw []byte, size uint16) {
		c := newConn(&canned{r: bytes.NewReader(raw)}, "hub:1", Config{MaxMessage: 1 << 20})
		if err := c.Open("/s/m", make([]byte, size)); err != nil {
			return
		}
		taken := 0
		for {
			m, err := c.Next()
			if err != nil {
				if _, ok := status.FromError(err); !ok && !errors.Is(err, io.EOF) {
					t.Fatalf("not a status: %v", err)
				}
				return
			}
			if taken += len(m) + prefixSize; taken > len(raw) || cap(c.in.part) > 2*len(raw)+64 {
				t.Fatalf("%d bytes of messages, %d kept, of %d that came", taken, cap(c.in.part), len(raw))
			}
			if taken%3 == 0 && c.Send(m) != nil {
				return
			}
		}
	})
}
