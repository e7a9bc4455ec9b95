package litesrv

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve starts a server on a real socket. h2 chooses HTTP/2 over TLS, else HTTP/1.1.
func serve(t testing.TB, s http.Handler, h2 bool) *httptest.Server {
	t.Helper()
	ts := httptest.NewUnstartedServer(nil)
	ts.Config = NewHTTPServer(s)
	ts.EnableHTTP2 = h2
	if h2 {
		ts.StartTLS()
	} else {
		ts.Start()
	}
	t.Cleanup(ts.Close)
	return ts
}

func protocols(t *testing.T, f func(t *testing.T, h2 bool)) {
	t.Run("HTTP/1.1", func(t *testing.T) { f(t, false) })
	t.Run("HTTP/2", func(t *testing.T) { f(t, true) })
}

// request sends a GET that lives as long as the test, or until stop.
func request(t testing.TB, ts *httptest.Server, path string) (resp *http.Response, stop context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, ts.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err = ts.Client().Do(r) //nolint:bodyclose // closed below
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		resp.Body.Close()
	})
	return resp, cancel
}

// wireEvent is a watch event as it comes from the wire.
type wireEvent struct {
	Type   string
	Object struct {
		Metadata struct {
			Namespace, Name, ResourceVersion string
			Annotations                      map[string]string
		}
		Code int
	}
}

func (e *wireEvent) String() string {
	m := e.Object.Metadata
	return fmt.Sprintf("%s %s/%s@%s", e.Type, m.Namespace, m.Name, m.ResourceVersion)
}

// events reads n events.
func events(t testing.TB, r *bufio.Reader, n int) []wireEvent {
	t.Helper()
	out := make([]wireEvent, n)
	for i := range out {
		line, err := r.ReadBytes('\n')
		if err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
		if err := json.Unmarshal(line, &out[i]); err != nil {
			t.Fatalf("event %d: %v in %s", i, err, line)
		}
	}
	return out
}

func many(n int) []thing {
	things := make([]thing, n)
	for i := range things {
		things[i] = thing{ns: "t1", name: fmt.Sprintf("c%04d", i), rest: `,"data":{"x":"` + strings.Repeat("x", 2000) + `"}`}
	}
	return things
}

func TestAWatchListOf500ObjectsIsWhole(t *testing.T) {
	protocols(t, func(t *testing.T, h2 bool) {
		w := newWorld(t, 100)
		l := w.load(configmaps, many(500)...)
		ts := serve(t, w.server(), h2)
		for name, pause := range map[string]time.Duration{"fast": 0, "slow": time.Millisecond} {
			resp, _ := request(t, ts, "/api/v1/configmaps?watch=1&resourceVersion=0&allowWatchBookmarks=true")
			rev := w.write(l, thing{ns: "t1", name: "live"}) // while the initial events are on their way
			r := bufio.NewReaderSize(resp.Body, 16)
			for i := range 500 {
				time.Sleep(pause)
				if e := events(t, r, 1)[0]; e.Type != "ADDED" || e.Object.Metadata.Name != fmt.Sprintf("c%04d", i) {
					t.Fatalf("%s: event %d is %s", name, i, &e)
				}
			}
			rest := events(t, r, 1)
			if rest[0].Type == "ADDED" { // the write may be part of the initial events
				rest = events(t, r, 1)
				rev = 0
			}
			if rest[0].Type != "BOOKMARK" || rest[0].Object.Metadata.Annotations["k8s.io/initial-events-end"] != "true" {
				t.Fatalf("%s: %s behind the objects", name, &rest[0])
			}
			if rev != 0 {
				if e := events(t, r, 1)[0]; e.String() != fmt.Sprintf("ADDED t1/live@%d", rev) {
					t.Errorf("%s: %s, live", name, &e)
				}
			}
			w.remove(l, "t1/live")
		}
	})
}

// TestNothingIsLostBetweenListAndWatch writes at exactly the list's revision plus one.
func TestNothingIsLostBetweenListAndWatch(t *testing.T) {
	protocols(t, func(t *testing.T, h2 bool) {
		w := newWorld(t, 100)
		l := w.load(configmaps, many(3)...)
		ts := serve(t, w.server(), h2)
		for range 20 {
			resp, _ := request(t, ts, "/api/v1/configmaps?limit=1")
			var list struct {
				Metadata struct{ ResourceVersion string }
			}
			if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
				t.Fatal(err)
			}
			rev := w.write(l, thing{ns: "t1", name: "next"})
			resp, stop := request(t, ts, "/api/v1/configmaps?watch=1&resourceVersion="+list.Metadata.ResourceVersion)
			if e := events(t, bufio.NewReader(resp.Body), 1)[0]; e.Object.Metadata.ResourceVersion != fmt.Sprint(rev) {
				t.Fatalf("%s, want revision %d", &e, rev)
			}
			stop()
		}
	})
}

func TestSelectorsOfTwoClientsAreExact(t *testing.T) {
	protocols(t, func(t *testing.T, h2 bool) {
		w := newWorld(t, 100)
		l := w.load(configmaps)
		ts := serve(t, w.server(), h2)
		a, _ := request(t, ts, "/api/v1/configmaps?watch=1&resourceVersion=100&labelSelector=app%3Da")
		b, _ := request(t, ts, "/api/v1/configmaps?watch=1&resourceVersion=100&labelSelector=app%3Db")
		for i := range 50 {
			w.write(l, thing{ns: "t1", name: fmt.Sprintf("c%d", i), labels: `"app":"` + string("ab"[i%2]) + `"`})
		}
		for start, resp := range []*http.Response{a, b} {
			for i, e := range events(t, bufio.NewReader(resp.Body), 25) {
				if name := fmt.Sprintf("c%d", 2*i+start); e.Object.Metadata.Name != name {
					t.Fatalf("%s, want %s", &e, name)
				}
			}
		}
	})
}

func TestAClientThatNeverReadsDoesNotHoldUpOthers(t *testing.T) {
	protocols(t, func(t *testing.T, h2 bool) {
		w := newWorld(t, 100)
		l := w.load(configmaps)
		ts := serve(t, w.server(), h2)
		request(t, ts, "/api/v1/configmaps?watch=1&resourceVersion=100") // never read
		resp, _ := request(t, ts, "/api/v1/configmaps?watch=1&resourceVersion=100")
		r := bufio.NewReader(resp.Body)
		body := `,"data":{"x":"` + strings.Repeat("x", 200_000) + `"}`
		for range 60 { // 12 MB: far more than sockets and flow control windows hold
			rev := w.write(l, thing{ns: "t1", name: "c", rest: body})
			if e := events(t, r, 1)[0]; e.Object.Metadata.ResourceVersion != fmt.Sprint(rev) {
				t.Fatalf("%s, want %d", &e, rev)
			}
		}
	})
}

func TestHeadersOnTheWire(t *testing.T) {
	protocols(t, func(t *testing.T, h2 bool) {
		w := newWorld(t, 100)
		l := w.load(configmaps, thing{ns: "t1", name: "c1"})
		ts := serve(t, w.server(), h2)
		resp, _ := request(t, ts, "/api/v1/namespaces/t1/configmaps/c1")
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.ContentLength != int64(len(body)) || resp.Header.Get("Date") == "" {
			t.Errorf("a small body: length %d of %d, %v %v", resp.ContentLength, len(body), resp.Header, err)
		}
		resp, _ = request(t, ts, "/api/v1/configmaps?watch=1&resourceVersion=100") // comes back though nothing happens
		if resp.ContentLength != -1 || !h2 && strings.Join(resp.TransferEncoding, "") != "chunked" {
			t.Errorf("a watch: length %d, %v", resp.ContentLength, resp.TransferEncoding)
		}
		if want := map[bool]int{true: 2, false: 1}[h2]; resp.ProtoMajor != want {
			t.Errorf("protocol %s", resp.Proto)
		}
		l.Close(nil)
		if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
			t.Errorf("the end of a watch: %q %v", rest, err)
		}
	})
}

func TestAHeaderThatIsTooLongIsRefused(t *testing.T) {
	ts := serve(t, newWorld(t, 100).server(), false)
	resp, _ := request(t, ts, "/api/v1/configmaps?labelSelector="+strings.Repeat("x", 1<<20+5000))
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d", resp.StatusCode)
	}
}
