package run

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHTTPEndsWithItsContextAndSoDoRequests(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	lis, err := Listen(ctx, "test", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- HTTP(ctx, lis, Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(begun)
			<-r.Context().Done()
			_, _ = io.WriteString(w, "over")
		})), slog.New(slog.DiscardHandler))
	}()
	got := make(chan string, 1)
	go func() {
		tr := &http.Transport{}
		defer tr.CloseIdleConnections()
		resp, err := (&http.Client{Transport: tr}).Get("http://" + lis.Addr().String())
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		got <- string(b)
	}()
	<-begun
	cancel()
	if text := <-got; text != "over" {
		t.Errorf("the request got %q", text)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestListenSaysWhatIsWrong(t *testing.T) {
	lis, err := Listen(t.Context(), "--serve", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	_, err = Listen(t.Context(), "--serve", lis.Addr().String())
	if err == nil || !strings.Contains(err.Error(), "--serve") || !strings.Contains(err.Error(), "in use") {
		t.Errorf("port in use: %v", err)
	}
}

func TestLoopback(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:1": true, "[::1]:1": true, "localhost:1": true, "127.9.9.9:1": true,
		":1": false, "0.0.0.0:1": false, "10.0.0.1:1": false, "example.com:1": false, "nonsense": false,
	} {
		if Loopback(addr) != want {
			t.Errorf("%s: %v", addr, !want)
		}
	}
}
