package audit

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRefusalsAreBoundedAndCountedGrantsAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := New(slog.New(slog.NewTextHandler(&out, nil)))
		for range linesAtOnce + 7 {
			l.Write(Entry{Action: "connect", Peer: "192.0.2.1:5", Result: Refused, Reason: "no"})
		}
		l.Write(Entry{Action: "join", Edge: "edge-1", Result: Granted})
		if n := strings.Count(out.String(), "\n"); n != linesAtOnce+1 {
			t.Fatalf("%d lines", n)
		}
		if !strings.HasSuffix(out.String(), "level=INFO msg=audit action=join edge=edge-1 result=granted\n") {
			t.Errorf("the last line is not the grant: %s", out.String()[out.Len()-200:])
		}
		out.Reset()
		time.Sleep(time.Second)
		l.Write(Entry{Action: "connect", Result: Refused})
		if !strings.Contains(out.String(), "refusals_left_out=7") {
			t.Errorf("what was left out is not reported: %s", out.String())
		}
	})
}

// An edge that brings about lines without end has its own budget, which is no other's.
func TestBoundedLinesHaveABudgetForEachEdge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := New(slog.New(slog.NewTextHandler(&out, nil)))
		for range edgeBurst + 5 {
			l.Write(Entry{Action: "call", Edge: "loud", Result: Passed, Bounded: true})
		}
		if n := strings.Count(out.String(), "edge=loud"); n != edgeBurst {
			t.Errorf("%d lines", n)
		}
		out.Reset()
		l.Write(Entry{Action: "call", Edge: "quiet", Result: Passed, Bounded: true})
		if got := out.String(); !strings.Contains(got, "edge=quiet") || !strings.Contains(got, "lines_left_out=5") {
			t.Errorf("%s", got)
		}
		out.Reset()
		time.Sleep(time.Second)
		for range 100 {
			l.Write(Entry{Action: "call", Edge: "loud", Result: Passed, Bounded: true})
		}
		if n := strings.Count(out.String(), "edge=loud"); n != int(time.Second/edgeEvery) {
			t.Errorf("%d lines of the second after", n)
		}
	})
}
