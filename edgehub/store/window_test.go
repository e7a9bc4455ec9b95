package store

import (
	"fmt"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func TestTheWindowIsBoundedByBytes(t *testing.T) {
	e := newEdge(t, Options{Window: watchlog.Config{MaxBytes: 20_000}})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 1000)}, 10))
	for rev := uint64(11); rev < 100; rev++ {
		e.live(put(pod(t, "a", "u1", rev, 1000)))
		e.verify()
	}
	if r := e.report(); r.WindowBytes > 20_000 || r.Events < 10 || r.Bodies != r.Events+1 {
		t.Fatalf("%+v", r)
	}
}

func TestTheWindowIsBoundedByEvents(t *testing.T) {
	e := newEdge(t, Options{Window: watchlog.Config{MaxEvents: 7}})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	for rev := uint64(11); rev < 40; rev += 2 {
		e.live(put(pod(t, "b", "u2", rev, 10)), del("ns/b", rev+1))
		e.verify()
	}
	if r := e.report(); r.Events != 7 {
		t.Fatalf("%+v", r)
	}
}

// A window that is far too large shrinks a bounded step at a time.
func TestTrimmingIsBounded(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	var ops []watchlog.Op
	for i := range uint64(500) {
		ops = append(ops, put(pod(t, fmt.Sprintf("p%d", i), "u", 11+i, 10)))
	}
	e.commit(e.log.Snapshot().Plan(ops, 600))
	e.opts.Window.MaxEvents = 10
	e.reopen()
	for want := 500 - trimStep; want > 10; want -= trimStep {
		e.commit(watchlog.Batch{Rev: e.log.Rev() + 1})
		if r := e.report(); r.Events != want {
			t.Fatalf("%d events, want %d", r.Events, want)
		}
	}
	e.commit(watchlog.Batch{Rev: e.log.Rev() + 1})
	if r := e.report(); r.Events != 10 {
		t.Fatalf("%+v", r)
	}
}

// Events that share a position leave the window one by one, and nobody is given half of them.
func TestAGroupThatIsTrimmedInPartIsNotWatchedFromBeforeIt(t *testing.T) {
	e := newEdge(t, Options{Window: watchlog.Config{MaxEvents: 3}})
	var first []*watchlog.Object
	for i := range 4 {
		first = append(first, pod(t, fmt.Sprintf("p%d", i), "u1", 5, 10))
	}
	e.commit(e.log.Snapshot().PlanReplace(first, 10))
	e.commit(e.log.Snapshot().PlanReplace(first[:2], 20)) // two deletions at 20
	e.live(put(pod(t, "q", "u2", 21, 10)), put(pod(t, "r", "u2", 22, 10)))
	e.verify()
	e.reopen()
	e.verify()
	if got := e.restored().Oldest(); got != 20 {
		t.Fatalf("watches from %d", got)
	}
}

func TestGapsAreBounded(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	var ops []watchlog.Op
	for rev := uint64(11); rev <= 11+2*trimStep; rev++ {
		ops = append(ops, put(pod(t, "a", "u1", rev, 10)))
	}
	e.commit(e.log.Snapshot().Plan(ops, 1000))
	for i := range uint64(maxGaps + 4) {
		e.commit(e.log.Snapshot().PlanCatchup(nil, 1010+2*i))
		if i >= maxGaps { // the window begins behind the first gaps, and events from before are still to be trimmed
			e.verify()
		}
	}
	if r := e.report(); r.Gaps != maxGaps || r.Events != 0 {
		t.Fatalf("%+v", r)
	}
}

func TestGapsGoWithTheEventsAroundThem(t *testing.T) {
	e := newEdge(t, Options{Window: watchlog.Config{MaxEvents: 4}})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	e.commit(e.log.Snapshot().PlanCatchup([]watchlog.Op{
		put(pod(t, "b", "u2", 15, 10)), put(pod(t, "c", "u3", 16, 10)), put(pod(t, "d", "u4", 20, 10))}, 30))
	e.verify()
	for rev := uint64(31); rev < 36; rev++ {
		e.live(put(pod(t, "e", "u5", rev, 10)))
		e.verify()
	}
	if r := e.report(); r.Gaps != 0 || r.Events != 4 || r.Bodies != 4+1+4 {
		t.Fatalf("%+v", r)
	}
}
