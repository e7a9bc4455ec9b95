package loopback

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ask(ctx context.Context, t *testing.T, h http.HandlerFunc, method string, body io.Reader) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "/path?query=1", body)
	if err != nil {
		t.Fatal(err)
	}
	return (&Transport{Handler: h, Logger: slog.New(slog.DiscardHandler)}).RoundTrip(r)
}

func TestBodiesStreamBothWays(t *testing.T) {
	in, out := io.Pipe()
	resp, err := ask(t.Context(), t, func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI != "/path?query=1" {
			t.Errorf("URI %q", r.RequestURI)
		}
		w.Header().Set("X-A", "b")
		w.WriteHeader(http.StatusAccepted)
		w.Header().Set("X-Late", "c")
		_, _ = io.Copy(w, r.Body)
	}, "POST", in)
	if err != nil || resp.StatusCode != 202 || resp.Header.Get("X-A") != "b" || resp.Header.Get("X-Late") != "" {
		t.Fatal(resp, err)
	}
	buf := make([]byte, 4)
	for _, word := range []string{"ping", "pong"} {
		_, _ = io.WriteString(out, word)
		if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != word {
			t.Fatalf("%q, %v", buf, err)
		}
	}
	_ = out.Close()
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	_ = resp.Body.Close()
}

func TestAHandlerEndsWithItsRequest(t *testing.T) {
	ended := make(chan struct{})
	wait := func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- struct{}{} }()
		if r.Method == "POST" {
			_, _ = io.Copy(io.Discard, r.Body) // which never ends by itself
			return
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	resp, err := ask(t.Context(), t, wait, "GET", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = resp.Body.Close() }()
	<-ended
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	in, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := ask(ctx, t, wait, "POST", in)
		done <- err
	}()
	<-ended
	if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	_ = out.Close()
}

func TestAPanicCutsTheAnswer(t *testing.T) {
	resp, err := ask(t.Context(), t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	}, "GET", nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) || string(body) != "half" {
		t.Errorf("%q, %v", body, err)
	}
	_ = resp.Body.Close()
}

func TestHeadHasNoBody(t *testing.T) {
	resp, err := ask(t.Context(), t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "body") }, "HEAD", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); err != nil || len(body) > 0 {
		t.Errorf("%q, %v", body, err)
	}
	_ = resp.Body.Close()
}
