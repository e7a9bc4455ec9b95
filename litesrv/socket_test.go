package litesrv

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/websocket"
)

// dial opens a watch over a WebSocket.
func dial(t *testing.T, ts *httptest.Server, path string, protocols ...string) *websocket.Conn {
	t.Helper()
	c, err := websocket.NewConfig("ws"+strings.TrimPrefix(ts.URL, "http")+path, ts.URL)
	if err != nil {
		t.Fatal(err)
	}
	c.Protocol = protocols
	conn, err := c.DialContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// message returns the next message and whether it is text.
func message(t *testing.T, c *websocket.Conn) (body string, text bool) {
	t.Helper()
	f, err := c.NewFrameReader()
	if err != nil {
		t.Fatal(err)
	}
	for f, err = c.HandleFrame(f); f == nil; f, err = c.HandleFrame(f) {
		if err != nil {
			t.Fatal(err)
		}
		if f, err = c.NewFrameReader(); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), f.PayloadType() == websocket.TextFrame
}

func wantMessage(t *testing.T, c *websocket.Conn, want string) {
	t.Helper()
	if got, text := message(t, c); got != want || !text {
		t.Errorf("got  %q, text %v\nwant %q", got, text, want)
	}
}

func TestEachEventIsAWebSocketMessage(t *testing.T) {
	w := newWorld(t, 100)
	l := w.load(configmaps, thing{ns: "t1", name: "c1"}, thing{ns: "t1", name: "c2"})
	s := w.server()
	c := dial(t, serve(t, s, false), "/api/v1/configmaps?watch=1&allowWatchBookmarks=1", "x")
	if got := c.Config().Protocol; !slices.Equal(got, []string{"x"}) {
		t.Errorf("subprotocol %v", got)
	}
	wantMessage(t, c, frame("ADDED", cm("t1", "c1", 100)))
	wantMessage(t, c, frame("ADDED", cm("t1", "c2", 100)))
	wantMessage(t, c, bookmark(100, true))
	rev := w.write(l, thing{ns: "t1", name: "c1"})
	wantMessage(t, c, frame("MODIFIED", cm("t1", "c1", rev)))
	l.Close(errors.New("gone"))
	wantClose(t, c)
}

func TestAWebSocketTellsFaultsAsAWatchDoes(t *testing.T) {
	w := compacted(t, configmaps)
	ts := serve(t, w.server(), false)
	c := dial(t, ts, "/api/v1/configmaps?watch=1&resourceVersion=100")
	wantMessage(t, c, errorFrame(failure(410, "Expired", "too old resource version: 100 (101)", "")))
	wantClose(t, c)
	// What is wrong with the request itself is told before the handshake.
	answer := shake(t, ts, "/api/v1/configmaps?watch=1&resourceVersion=x", "Origin: http://a")
	if answer.StatusCode != http.StatusInternalServerError {
		t.Errorf("%d", answer.StatusCode)
	}
}

// wantClose checks that the server closes with status 1000.
func wantClose(t *testing.T, c *websocket.Conn) {
	t.Helper()
	f, err := c.NewFrameReader()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(f)
	if err != nil || f.PayloadType() != websocket.CloseFrame || string(raw) != "\x03\xe8" {
		t.Errorf("got %d %q, %v", f.PayloadType(), raw, err)
	}
}

func TestAWebSocketAnswersPings(t *testing.T) {
	w := newWorld(t, 100)
	w.load(configmaps)
	c := dial(t, serve(t, w.server(), false), "/api/v1/configmaps?watch=1&resourceVersion=100")
	c.PayloadType = websocket.PingFrame
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	f, err := c.NewFrameReader()
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := io.ReadAll(f)
	if f.PayloadType() != websocket.PongFrame || string(raw) != "hello" {
		t.Errorf("got %d %q", f.PayloadType(), raw)
	}
}

func TestAWebSocketThatIsLeftEndsTheWatch(t *testing.T) {
	w := newWorld(t, 100)
	w.load(configmaps)
	done := make(chan struct{})
	s := w.server()
	ts := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		s.ServeHTTP(w, r)
	}), false)
	c := dial(t, ts, "/api/v1/configmaps?watch=1&resourceVersion=100")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
}

// shake asks for a WebSocket with header lines of its own.
func shake(t *testing.T, ts *httptest.Server, path string, lines ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ts.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range append([]string{
		"Upgrade: websocket", "Connection: keep-alive, Upgrade", "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==", "Sec-WebSocket-Version: 13",
	}, lines...) {
		name, value, _ := strings.Cut(l, ": ")
		r.Header.Set(name, value)
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func TestHandshakes(t *testing.T) {
	w := newWorld(t, 100)
	w.load(configmaps)
	ts := serve(t, w.server(), false)
	const watch = "/api/v1/configmaps?watch=1&timeoutSeconds=-1"
	for _, c := range []struct {
		name  string
		lines []string
		code  int
	}{
		{"an origin", []string{"Origin: http://a"}, 101},
		{"no origin", nil, 403},
		{"an origin that is no address", []string{"Origin: foo"}, 403},
		{"one subprotocol", []string{"Origin: http://a", "Sec-WebSocket-Protocol: a"}, 101},
		{"several subprotocols", []string{"Origin: http://a", "Sec-WebSocket-Protocol: a, b"}, 400},
		{"an old version", []string{"Origin: http://a", "Sec-WebSocket-Version: 8"}, 400},
		{"no key", []string{"Origin: http://a", "Sec-WebSocket-Key: "}, 400},
		{"no upgrade", []string{"Connection: keep-alive"}, 200},
		{"gzip", []string{"Origin: http://a", "Accept-Encoding: gzip"}, 101},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := shake(t, ts, watch, c.lines...)
			if answer.StatusCode != c.code || answer.Header.Get("Content-Encoding") != "" {
				t.Errorf("got %d %v, want %d", answer.StatusCode, answer.Header, c.code)
			}
		})
	}
	if answer := shake(t, ts, "/api/v1/configmaps", "Origin: http://a"); answer.StatusCode != http.StatusOK {
		t.Errorf("a list: %d", answer.StatusCode)
	}
}

func TestASocketCutsBinaryFramesByTheirLength(t *testing.T) {
	s := socket{binary: true}
	var got []string
	for rest := []byte("\x00\x00\x00\x02a\n\x00\x00\x00\x00\x00\x00\x00\x01b"); len(rest) > 0; {
		var m []byte
		m, rest = s.cut(rest)
		got = append(got, string(m))
	}
	if !slices.Equal(got, []string{"a\n", "", "b"}) {
		t.Errorf("%q", got)
	}
}

// TestAnAnswerThatCanNotBeTakenOver is about a connection that is no WebSocket's, as of HTTP/2.
func TestAnAnswerThatCanNotBeTakenOver(t *testing.T) {
	w := newWorld(t, 100)
	w.load(configmaps)
	answer := get(t, w.server(), "/api/v1/configmaps?watch=1", "Upgrade", "websocket", "Connection", "upgrade", "Origin", "http://a")
	if answer.Code != http.StatusInternalServerError || !strings.Contains(answer.Body.String(), "unable to start watch") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}
