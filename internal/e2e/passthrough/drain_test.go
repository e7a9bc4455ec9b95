package passthrough

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// follow begins a request and returns the lines of its answer.
func (r *rig) follow(path string) *bufio.Scanner {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.edge.URL+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	resp, err := r.client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() {
		r.t.Fatalf("%s: %v", path, lines.Err())
	}
	return lines
}

// TestShutdownEndsWatchesAndLetsLogsGoOn: a watch can be resumed elsewhere, a log can't. New calls are refused.
func TestShutdownEndsWatchesAndLetsLogsGoOn(t *testing.T) {
	more := make(chan struct{})
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for n := 0; ; n++ {
			fmt.Fprintln(w, "line", n)
			_ = http.NewResponseController(w).Flush()
			select {
			case _, ok := <-more:
				if !ok {
					return
				}
			case <-req.Context().Done():
				return
			}
		}
	}))
	watch := r.follow("/api/v1/pods?watch=true")
	logs := r.follow("/api/v1/namespaces/ns/pods/p/log?follow=true")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	down := make(chan struct{})
	go func() {
		defer close(down)
		r.hub.Shutdown(ctx)
	}()
	if watch.Scan() {
		t.Errorf("the watch goes on: %q", watch.Text())
	}
	if resp, body := r.ask(http.MethodGet, "/api/v1/nodes", ""); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a new call: %d %s", resp.StatusCode, body)
	}
	for n := 1; n <= 10; n++ {
		more <- struct{}{}
		if !logs.Scan() || logs.Text() != fmt.Sprint("line ", n) {
			t.Fatalf("%q instead of line %d: %v", logs.Text(), n, logs.Err())
		}
	}
	select {
	case <-down:
		t.Error("the hub does not wait for the log")
	case <-time.After(10 * time.Millisecond):
	}
	close(more)
	if logs.Scan() || logs.Err() != nil {
		t.Errorf("behind the end: %q, %v", logs.Text(), logs.Err())
	}
	<-down
	if ctx.Err() != nil {
		t.Error("the hub has waited to the last")
	}
}
