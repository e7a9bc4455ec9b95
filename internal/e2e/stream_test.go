//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// stream is one open watch that a test reads event by event.
type stream struct {
	t       testing.TB
	body    io.Closer
	decoder *json.Decoder
	cancel  context.CancelFunc
	timer   *time.Timer // cancels when nothing comes
}

// openWatch opens a watch; it has to be answered with 200. The end of the test closes it.
func (a *api) openWatch(t testing.TB, path string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := a.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("watch %s: %s", path, response.Status)
	}
	s := &stream{t: t, body: response.Body, decoder: json.NewDecoder(response.Body), cancel: cancel}
	s.timer = time.AfterFunc(patience, cancel)
	t.Cleanup(s.close)
	return s
}

func (s *stream) close() {
	s.timer.Stop()
	s.cancel()
	_ = s.body.Close()
}

// next returns the next event that is no bookmark.
func (s *stream) next() (guarantee.EventType, guarantee.Object) {
	s.t.Helper()
	s.timer.Reset(patience)
	for {
		var event struct {
			Type   guarantee.EventType
			Object json.RawMessage
		}
		if err := s.decoder.Decode(&event); err != nil {
			s.t.Fatalf("watch: %v", err)
		}
		if event.Type == "BOOKMARK" {
			continue
		}
		if event.Type == "ERROR" {
			s.t.Fatalf("watch: ERROR %s", event.Object)
		}
		o, err := guarantee.ParseObject(event.Object)
		if err != nil {
			s.t.Fatal(err)
		}
		return event.Type, o
	}
}

// expect fails unless the next event is that.
func (s *stream) expect(typ guarantee.EventType, key, uid string) guarantee.Object {
	s.t.Helper()
	got, o := s.next()
	if got != typ || o.Key != key || uid != "" && o.UID != uid {
		s.t.Fatalf("got %s %s, want %s %s uid %s", got, o, typ, key, uid)
	}
	return o
}
