//go:build e2e

package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// wire is a connection that speaks HTTP/2 as it likes.
type wire struct {
	*tls.Conn
	framer *http2.Framer
	closed chan struct{} // closed when the hub has closed it
}

// raw is a bare connection to the hub.
func (a *adversary) raw() net.Conn {
	a.t.Helper()
	c, err := net.Dial("tcp", a.site.hub.sync)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = c.Close() })
	return c
}

// wire opens a connection up to the end of the handshake.
func (a *adversary) wire() *wire {
	a.t.Helper()
	c := tls.Client(a.raw(), a.tls())
	if err := c.HandshakeContext(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
	return &wire{c, http2.NewFramer(c, nil), make(chan struct{})}
}

// greet sends what begins HTTP/2.
func (w *wire) greet() *wire {
	_, _ = io.WriteString(w, http2.ClientPreface) // a hub that closes is what the test is about
	_ = w.framer.WriteSettings()
	return w
}

// drain reads until the hub closes.
func (w *wire) drain(all *sync.WaitGroup) *wire {
	all.Go(func() {
		_, _ = io.Copy(io.Discard, w.Conn)
		close(w.closed)
	})
	return w
}

// call is the header block of a call.
func callBlock(method string, extra ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	fields := append([]string{":method", "POST", ":scheme", "https", ":path", method, ":authority", "localhost",
		"content-type", "application/grpc", "te", "trailers"}, extra...)
	for i := 0; i < len(fields); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // into a buffer
	}
	return b.Bytes()
}

// memory is the hub's, in bytes.
func (s *trustedSite) memory() float64 {
	s.t.Helper()
	return mustMetric(s.t, s.hub.http, "process_resident_memory_bytes")
}

// TestFloodsAndSlowPeersCostOthersNothing has a flood of each kind, and peers that never go on, from those with a certificate and
// those without one. The hub's memory stays what it was, the other edge gets everything, and the connections are closed.
func TestFloodsAndSlowPeersCostOthersNothing(t *testing.T) {
	s := newTrustedSiteOf(t, hubConfig{scopes: thiefScopes, args: []string{"--log-format", "json"}})
	s.startEdge()
	s.sources(configMaps, pods)
	s.watch(s.local, configMaps, guarantee.ReaderConfig{NeverExpires: true}, nil)
	s.watch(s.local, pods, guarantee.ReaderConfig{NeverExpires: true}, nil)
	a := newAdversary(s, "thief")
	l := startLoad(t, s.history, s.cloud, seed(t), 50, loadKinds...)
	l.awaitCount(200)
	before, sessions := s.memory(), mustMetric(t, s.edge.http, "tombolo_edge_sessions_total")
	for name, flood := range map[string]func(*testing.T, *adversary){
		"settings": settings, "pings": pings, "rapid resets": rapidResets, "endless headers": endlessHeaders, "messages that never end": unended,
		"data without a stream": strayData,
	} {
		t.Run(name, func(t *testing.T) { flood(t, a.of(t)) })
	}
	t.Run("who never goes on", func(t *testing.T) { a.of(t).slow() })
	l.awaitCount(200)
	l.stop()
	after := s.memory()
	t.Logf("memory of the hub: %.0f MiB before, %.0f MiB after", before/(1<<20), after/(1<<20))
	if after > 2*before {
		t.Errorf("the hub's memory grew from %.0f to %.0f bytes", before, after)
	}
	s.settle(configMaps, pods)
	if n := mustMetric(t, s.edge.http, "tombolo_edge_sessions_total"); n != sessions {
		t.Errorf("the other edge had %g sessions meanwhile", n-sessions)
	}
}

// storm writes frames until the hub closes, takes no more, or there were enough of them.
func storm(w *wire, frames int, write func(f *http2.Framer, n uint32) error) (sent int, err error) {
	for ; sent < frames; sent++ {
		_ = w.SetWriteDeadline(time.Now().Add(2 * time.Second)) // a hub that takes no more is what is wanted
		if err = write(w.framer, uint32(sent)); err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// settings is a flood of frames that want an answer, none of which is read: the hub reads no more while too many wait.
func settings(t *testing.T, a *adversary) {
	before := a.site.memory()
	sent, err := storm(a.wire().greet(), 300_000, func(f *http2.Framer, _ uint32) error {
		return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 16})
	})
	t.Logf("%d frames: %v", sent, err)
	if now := a.site.memory(); now > 2*before {
		t.Errorf("answers that nobody reads have taken the hub from %.0f to %.0f bytes", before, now)
	}
}

func pings(t *testing.T, a *adversary) {
	var all sync.WaitGroup
	w := a.wire().greet().drain(&all)
	sent, err := storm(w, 300_000, func(f *http2.Framer, _ uint32) error { return f.WritePing(false, [8]byte{}) })
	t.Logf("%d frames: %v", sent, err)
	select {
	case <-w.closed: // by the hub
	case <-time.After(patience):
		t.Error("the hub answers any number of pings")
		_ = w.Close()
	}
	all.Wait()
}

// rapidResets opens streams and takes them back at once: CVE-2023-44487.
func rapidResets(t *testing.T, a *adversary) {
	var all sync.WaitGroup
	w := a.wire().greet().drain(&all)
	head := callBlock(callMethod)
	sent, err := storm(w, 20_000, func(f *http2.Framer, n uint32) error {
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*n + 1, BlockFragment: head, EndHeaders: true}); err != nil {
			return err
		}
		return f.WriteRSTStream(2*n+1, http2.ErrCodeCancel)
	})
	t.Logf("%d streams: %v", sent, err)
	_ = w.Close() // if the hub has not
	all.Wait()
	awaitMetric(t, a.site.hub.http, "tombolo_hub_calls_in_flight", func(v float64) bool { return v == 0 })
}

// endlessHeaders never ends a header block.
func endlessHeaders(t *testing.T, a *adversary) {
	for what, who := range map[string]*adversary{"with a certificate": a, "without one": a.as(nil)} {
		var all sync.WaitGroup
		w := who.wire().greet().drain(&all)
		_ = w.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: callBlock(joinMethod)}) // storm hears of a fault
		block := callBlock(joinMethod, "x", string(bytes.Repeat([]byte{'x'}, 8<<10)))[:8<<10]
		sent, err := storm(w, 10_000, func(f *http2.Framer, _ uint32) error { return f.WriteContinuation(1, false, block) })
		t.Logf("%s: %d frames: %v", what, sent, err)
		if err == nil {
			t.Errorf("%s: the hub takes %d bytes of a header", what, sent*len(block))
		}
		all.Wait()
	}
}

// unended begins messages on many streams, as large as may be, and ends none of them.
func unended(t *testing.T, a *adversary) {
	const size = 2<<20 - 100
	part := make([]byte, 16<<10)
	prefix := binary.BigEndian.AppendUint32([]byte{0}, size)
	for what, who := range map[string]*adversary{"with a certificate": a, "without one": a.as(nil)} {
		var all sync.WaitGroup
		w := who.wire().greet().drain(&all)
		method := syncMethod
		if who.cert == nil {
			method = joinMethod
		}
		for id := uint32(1); id < 16; id += 2 {
			_ = w.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: callBlock(method), EndHeaders: true})
			_ = w.framer.WriteData(id, false, prefix) // a hub that closes is all right
		}
		sent, err := storm(w, 8*60, func(f *http2.Framer, n uint32) error { return f.WriteData(1+2*(n%8), false, part) })
		t.Logf("%s: %d parts: %v", what, sent, err)
		if who.cert == nil {
			all.Wait() // the hub closes, because it is more than joining takes
		}
		_ = w.Close()
		all.Wait()
	}
}

// strayData is of no stream.
func strayData(t *testing.T, a *adversary) {
	var all sync.WaitGroup
	w := a.wire().greet().drain(&all)
	part := make([]byte, 16<<10)
	sent, err := storm(w, 5_000, func(f *http2.Framer, n uint32) error { return f.WriteData(2*n+1001, false, part) })
	t.Logf("%d frames: %v", sent, err)
	_ = w.Close()
	all.Wait()
}

// slow opens connections that go on no further, at every step that there is.
func (a *adversary) slow() {
	nobody := a.as(nil)
	var all sync.WaitGroup
	var conns []net.Conn
	open := func(c net.Conn) { conns = append(conns, c) }
	for range 400 {
		open(a.raw()) // nothing at all
	}
	for range 100 {
		c := a.raw()
		_, _ = c.Write([]byte{22, 3, 1, 2, 0, 1}) // the beginning of a ClientHello
		open(c)
	}
	for range 30 {
		open(nobody.wire()) // no preface
	}
	for range 10 {
		w := nobody.wire().greet()
		_ = w.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: callBlock(joinMethod)}) // no end
		open(w)
	}
	for range 10 {
		w := nobody.wire().greet()
		_ = w.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: callBlock(joinMethod), EndHeaders: true})
		_ = w.framer.WriteData(1, false, []byte{0, 0, 0, 1, 0, 'x'}) // a part of a request
		open(w)
	}
	// There is room for whom means it, meanwhile.
	k := a.talk(sayHello(greeting("thief")))
	k.settled("pods", "secrets", "configmaps")
	for _, c := range conns {
		all.Go(func() {
			_ = c.SetReadDeadline(time.Now().Add(patience))
			_, err := io.Copy(io.Discard, c)
			var late net.Error
			if errors.As(err, &late) && late.Timeout() {
				a.t.Error("a connection that does not go on is kept for ever")
			}
		})
	}
	all.Wait()
	eventually(a.t, func() error {
		v, err := metric(a.t.Context(), a.site.hub.http, "tombolo_hub_connections")
		if err == nil && v > 2 {
			err = fmt.Errorf("%g connections", v)
		}
		return err
	})
}
