package litesrv

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// watcher is the client of one watch in a synctest bubble. It sees what was flushed.
type watcher struct {
	t      *testing.T
	cancel context.CancelFunc
	done   chan struct{} // closed when the handler has returned

	mu       sync.Mutex // guards all below
	header   http.Header
	code     int
	written  strings.Builder
	flushed  int // how much of written the client has
	read     int // how much of that next has returned
	writes   int
	deadline []time.Time
	stuck    bool // takes nothing until its write deadline
}

// open starts a watch. stuck is set for a client that never reads.
func open(t *testing.T, s *Server, path string, stuck bool) *watcher {
	t.Helper()
	return openWith(t, s, path, stuck, nil)
}

// openWith starts a watch with headers.
func openWith(t *testing.T, s *Server, path string, stuck bool, header http.Header) *watcher {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watcher{t: t, cancel: cancel, done: make(chan struct{}), header: http.Header{}, stuck: stuck}
	r := httptest.NewRequest(http.MethodGet, path, nil).WithContext(ctx)
	maps.Copy(r.Header, header)
	go func() {
		defer close(w.done)
		s.ServeHTTP(w, r)
		w.Flush() // as net/http does at the end
	}()
	synctest.Wait()
	return w
}

func (w *watcher) Header() http.Header { return w.header }

func (w *watcher) WriteHeader(code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.code != 0 {
		w.t.Errorf("a second header: %d after %d", code, w.code)
	}
	w.code = code
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes++
	if w.stuck {
		end := w.deadline[len(w.deadline)-1]
		w.mu.Unlock()
		time.Sleep(time.Until(end))
		w.mu.Lock()
		return 0, http.ErrHandlerTimeout
	}
	return w.written.Write(p)
}

func (w *watcher) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flushed = w.written.Len()
}

func (w *watcher) SetWriteDeadline(d time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadline = append(w.deadline, d)
	return nil
}

// next returns what the client got since the last call, once everything has come to rest.
func (w *watcher) next() string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.written.String()[w.read:w.flushed]
	w.read = w.flushed
	return text
}

// wants compares what the client got since the last look with frames.
func (w *watcher) wants(what string, frames ...string) {
	w.t.Helper()
	if got := w.next(); got != strings.Join(frames, "") {
		w.t.Errorf("%s:\n got %s\nwant %s", what, got, strings.Join(frames, ""))
	}
}

// ended tells whether the server has ended the watch.
func (w *watcher) ended() bool {
	synctest.Wait()
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// leave is the client closing its connection.
func (w *watcher) leave() {
	w.cancel()
	<-w.done
}

// status returns the code of the answer, 0 before there is one.
func (w *watcher) status() int {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.code
}

func (w *watcher) armed() []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deadline
}

func frame(kind, object string) string { return `{"type":"` + kind + `","object":` + object + "}\n" }

func errorFrame(status string) string { return frame("ERROR", strings.TrimSuffix(status, "\n")) }
