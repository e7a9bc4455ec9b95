package passthrough

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// turns lets a test and an API server take turns.
type turns chan struct{}

func (c turns) wait(t *testing.T, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatal("not so: " + what)
	}
}

func TestAWatchStreamsAndItsEndIsPassedOn(t *testing.T) {
	next, gone := make(turns), make(turns)
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		_ = http.NewResponseController(w).Flush()
		for i := 0; ; i++ {
			select {
			case <-next:
				_, _ = fmt.Fprintf(w, "event %d\n", i)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, r.edge.URL+"/api/v1/pods?watch=1", nil)
	resp, err := r.client().Do(req) // returns although nothing has happened yet
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(resp.Body)
	for i := range 3 {
		next <- struct{}{}
		if line, err := lines.ReadString('\n'); err != nil || line != fmt.Sprintf("event %d\n", i) {
			t.Fatalf("%q, %v", line, err)
		}
	}
	cancel()
	_ = resp.Body.Close()
	gone.wait(t, "the API server sees that the client is gone")
}

func TestARequestsBodyStreamsWhileItIsAnswered(t *testing.T) {
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		_ = http.NewResponseController(w).Flush()
		buf := make([]byte, 100)
		for {
			n, err := r.Body.Read(buf)
			if err != nil {
				return
			}
			_, _ = w.Write(buf[:n])
			_ = http.NewResponseController(w).Flush()
		}
	}))
	in, out := io.Pipe()
	req, _ := http.NewRequest(http.MethodPost, r.edge.URL+"/api/v1/namespaces/ns/pods/p/proxy/echo", in)
	resp, err := r.client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	buf := make([]byte, 4)
	for _, word := range []string{"ping", "pong"} {
		_, _ = out.Write([]byte(word))
		if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != word {
			t.Fatalf("%q, %v", buf, err)
		}
	}
	_ = out.Close()
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) != 0 {
		t.Errorf("behind the end: %q, %v", rest, err)
	}
}

// TestASlowClientHoldsUpTheAPIServer is about memory: what nobody reads stays where it was made.
func TestASlowClientHoldsUpTheAPIServer(t *testing.T) {
	var written atomic.Int64
	done := make(turns)
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(done)
		chunk := make([]byte, 64<<10)
		for range 8192 { // 512 MiB
			if _, err := w.Write(chunk); err != nil {
				return
			}
			written.Add(int64(len(chunk)))
		}
	}))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	resp, err := r.client().Get(r.edge.URL + "/api/v1/pods")
	if err != nil {
		t.Fatal(err)
	}
	last := int64(-1)
	for written.Load() != last { // until it stands still
		last = written.Load()
		time.Sleep(200 * time.Millisecond)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if last >= 512<<20 {
		t.Errorf("%d bytes were taken from the API server although the client reads none", last)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	_ = resp.Body.Close()
	done.wait(t, "the API server's answer ends with the client")
}

func TestABodyThatIsNotSentToItsEndIsNoWrite(t *testing.T) {
	ended := make(chan error, 1)
	began := make(turns)
	r := newRig(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		_, err := io.ReadAll(r.Body)
		ended <- err
	}))
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.edge.URL+"/api/v1/namespaces/ns/pods", in)
	go func() {
		_, _ = out.Write([]byte("half an obj"))
		<-began
		cancel()
		_ = out.CloseWithError(context.Canceled) // http.Transport waits for who reads the body
	}()
	if _, err := r.client().Do(req); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("half a body looks whole to the API server")
		}
	case <-time.After(patience):
		t.Fatal("the API server waits for the rest")
	}
}

func TestAnAnswerThatIsCutShortCutsTheConnection(t *testing.T) {
	for _, length := range []string{"", "1000"} {
		r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if length != "" {
				w.Header().Set("Content-Length", length)
			}
			_, _ = w.Write([]byte("half"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}))
		resp, err := r.client().Get(r.edge.URL + "/api/v1/pods")
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("length %q: looks whole: %s", length, body)
		}
		_ = resp.Body.Close()
	}
}

func TestBytesAreNotTouched(t *testing.T) {
	packed := "\x1f\x8b not really gzip\x00\xff"
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/gone":
			http.Redirect(w, r, "http://elsewhere.example/", http.StatusFound)
		case "/api/v1/head":
			w.Header().Set("Content-Length", "123")
		default:
			w.Header()["Content-Type"] = nil
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Add("Warning", `299 - "one"`)
			w.Header().Add("Warning", `299 - "two"`)
			_, _ = io.WriteString(w, packed)
		}
	}))
	resp, body := r.ask("GET", "/api/v1/x", "", "Accept-Encoding", "gzip")
	if body != packed || len(resp.Header["Warning"]) != 2 || resp.Header.Get("Content-Type") != "" || resp.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%q %v", body, resp.Header)
	}
	if resp, _ := r.ask("GET", "/api/v1/gone", ""); resp.StatusCode != 302 || !strings.Contains(resp.Header.Get("Location"), "elsewhere") {
		t.Errorf("a redirect was followed: %d", resp.StatusCode)
	}
	if resp, body := r.ask("HEAD", "/api/v1/head", ""); resp.Header.Get("Content-Length") != "123" || body != "" {
		t.Errorf("HEAD: %v %q", resp.Header, body)
	}
}
