//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/e2e/proc"
)

// server is a process that can be killed and started again with the same arguments. Its methods
// belong to one goroutine.
type server struct {
	t      testing.TB
	name   string // in the log's name and in reports
	binary string
	args   []string
	env    []string // in addition to what it inherits
	ready  string   // URL that answers 200 once it serves
	log    string
	p      *proc.Process // nil while it is down
}

// patience bounds the wait for what has to happen. It is no measure of speed.
const patience = 60 * time.Second

// newServer prepares a server; t's end kills it.
func newServer(t testing.TB, name, binary, ready string, args ...string) *server {
	t.Helper()
	s := &server{t: t, name: name, binary: filepath.Join(binaries, binary), args: args, ready: ready}
	s.log = filepath.Join(artifacts(t), name+".log")
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("end of the log of %s:\n%s", name, tail(s.log))
		}
	})
	return s
}

// artifacts is the directory for what a test leaves to look at.
func artifacts(t testing.TB) string {
	t.Helper()
	root := os.Getenv("TOMBOLO_E2E_ARTIFACTS")
	if root == "" {
		return t.TempDir()
	}
	dir := filepath.Join(root, t.Name())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func tail(file string) []byte {
	const most = 6 << 10
	b, err := os.ReadFile(file)
	if err != nil {
		return []byte(err.Error())
	}
	return b[max(0, len(b)-most):]
}

// launch starts the process and doesn't wait for it.
func (s *server) launch() {
	s.t.Helper()
	p, err := proc.StartWith(s.env, s.binary, s.log, s.args...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.p = p
}

// start starts the process and waits until it serves.
func (s *server) start() {
	s.t.Helper()
	s.launch()
	s.awaitReady()
}

func (s *server) awaitReady() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	if err := s.p.Await(ctx, func(ctx context.Context) error { return ok(ctx, s.ready) }); err != nil {
		s.t.Fatalf("%s: %v", s.name, err)
	}
}

// ok tells whether a URL answers 200.
func ok(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := oneShot.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}

// oneShot keeps no connections: what it talks to comes and goes.
var oneShot = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// kill ends the process as a crash would.
func (s *server) kill() {
	s.t.Helper()
	if s.p == nil {
		return
	}
	if err := s.p.Kill(); err != nil {
		s.t.Error(err)
	}
	s.p = nil
}

// pause keeps the process from doing anything until resume.
func (s *server) pause() { s.signal(syscall.SIGSTOP) }

func (s *server) resume() { s.signal(syscall.SIGCONT) }

func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(s.p.PID(), sig); err != nil {
		s.t.Fatal(err)
	}
}

// stop ends the process in order. It has to end by itself.
func (s *server) stop() {
	s.t.Helper()
	if err := s.p.Stop(30 * time.Second); err != nil {
		s.t.Errorf("%s: %v", s.name, err)
	}
	s.p = nil
}

// alive fails the test when the process has ended by itself.
func (s *server) alive() {
	s.t.Helper()
	select {
	case <-s.p.Exited():
		s.t.Fatalf("%s ended by itself, exit code %d", s.name, s.p.ExitCode())
	default:
	}
}
