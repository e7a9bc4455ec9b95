package watchlog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestWriteRightAfterTheListIsSeenByTheWatch(t *testing.T) {
	l := loaded(t, 10, Config{}, pod{"ns", "a", "u1", "n1", "x", 5})
	snap := l.Snapshot()
	write(t, l, pod{"ns", "b", "u2", "n1", "x", 11}.op(t, l.Decoder()))
	for name, open := range map[string]func() (*Reader, error){
		"from the snapshot": func() (*Reader, error) { return snap.NewReader(make(Signal, 1)) },
		"from its position": func() (*Reader, error) { return l.NewReader(snap.Rev(), make(Signal, 1)) },
	} {
		r, err := open()
		if err != nil {
			t.Fatal(err)
		}
		equal(t, name, drain(t, r, 8), []string{"ADDED ns/b@11/11"})
		r.Close()
	}
}

func TestPlanDropsWhatIsKnown(t *testing.T) {
	l := loaded(t, 10, Config{}, pod{"ns", "a", "u1", "n1", "x", 5})
	d := l.Decoder()
	b := l.Snapshot().Plan([]Op{
		pod{"ns", "a", "u1", "n1", "x", 5}.op(t, d), // replayed
		{Key: "ns/gone", Rev: 11},                   // unknown
		{Key: "ns/a", Rev: 12, Object: pod{rev: 4, ns: "ns", name: "a", uid: "u1"}.object(t, d)}, // late duplicate
	}, 12)
	if len(b.Events) != 0 || b.Rev != 12 {
		t.Fatalf("planned %v up to %d", b.Events, b.Rev)
	}
}

func TestRecreatedUnderANewUIDIsDeletedAndAdded(t *testing.T) {
	l := loaded(t, 10, Config{}, pod{"ns", "a", "old", "n1", "x", 5})
	r, _ := l.NewReader(10, make(Signal, 1))
	defer r.Close()
	commit(t, l, l.Snapshot().PlanCatchup([]Op{pod{"ns", "a", "new", "n2", "x", 14}.op(t, l.Decoder())}, 20))
	equal(t, "events", drain(t, r, 1), []string{"DELETED ns/a@14/10", "ADDED ns/a@14/14"})
}

func TestCatchupIsGaplessFromItsEndsAndCompactedInside(t *testing.T) {
	l := loaded(t, 10, Config{}, pod{"ns", "a", "u1", "n1", "x", 5}, pod{"ns", "b", "u2", "n1", "x", 6})
	d := l.Decoder()
	commit(t, l, l.Snapshot().PlanCatchup([]Op{
		pod{"ns", "c", "u3", "n1", "x", 20}.op(t, d), {Key: "ns/a"}, {Key: "ns/b"}, pod{"ns", "d", "u4", "n1", "x", 15}.op(t, d),
	}, 20))
	r, err := l.NewReader(10, make(Signal, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// The deletions take effect at 20 and come before the object whose own version 20 is: a client that has seen c, and
	// resumes from it, has seen them.
	equal(t, "events", drain(t, r, 1), []string{
		"ADDED ns/d@15/15", "DELETED ns/a@20/15", "DELETED ns/b@20/15", "ADDED ns/c@20/20",
	})
	for _, rev := range []uint64{11, 15, 19} {
		if _, err := l.NewReader(rev, nil); !errors.Is(err, ErrCompacted) {
			t.Errorf("watch from %d: %v", rev, err)
		}
		if _, err := l.SnapshotAt(rev); !errors.Is(err, ErrCompacted) {
			t.Errorf("list at %d: %v", rev, err)
		}
	}
	for rev, want := range map[uint64][]string{10: {"ns/a", "ns/b"}, 20: {"ns/c", "ns/d"}} {
		s, err := l.SnapshotAt(rev)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "list", keys(s.All("")), want)
	}
}

func TestObjectThatEntersKeepsItsOwnVersion(t *testing.T) {
	l := loaded(t, 10, Config{}, pod{"ns", "a", "u1", "n1", "x", 5})
	r, _ := l.NewReader(10, make(Signal, 1))
	defer r.Close()
	commit(t, l, l.Snapshot().PlanCatchup([]Op{pod{"ns", "b", "u2", "n1", "x", 3}.op(t, l.Decoder())}, 12))
	got, rev := drainTo(t, r, 4)
	equal(t, "events", got, []string{"ADDED ns/b@12/3"})
	if rev != 12 {
		t.Errorf("the bookmark may say %d, want 12", rev)
	}
}

func TestLateEventIsSentAgainToWhoResumes(t *testing.T) {
	l := loaded(t, 10, Config{}, pod{"ns", "a", "u1", "n1", "x", 5})
	live, _ := l.NewReader(10, make(Signal, 1))
	defer live.Close()
	commit(t, l, l.Snapshot().PlanCatchup([]Op{pod{"ns", "b", "u2", "n1", "x", 3}.op(t, l.Decoder())}, 10))
	equal(t, "live", drain(t, live, 4), []string{"ADDED ns/b@10/3"})
	resumed, err := l.NewReader(10, make(Signal, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer resumed.Close()
	equal(t, "resumed", drain(t, resumed, 4), []string{"ADDED ns/b@10/3"})
}

func TestDeletionsAtOneRevisionToldOneByOne(t *testing.T) {
	l := loaded(t, 10, Config{}, pod{"ns", "a", "u1", "n", "x", 5}, pod{"ns", "b", "u2", "n", "x", 6}, pod{"ns", "c", "u3", "n", "x", 7})
	r, _ := l.NewReader(10, make(Signal, 1))
	defer r.Close()
	for _, key := range []string{"ns/a", "ns/b", "ns/c"} {
		commit(t, l, l.Snapshot().Plan([]Op{{Key: key, Rev: 12}}, 12))
	}
	equal(t, "live", drain(t, r, 4), []string{"DELETED ns/a@12/12", "DELETED ns/b@12/12", "DELETED ns/c@12/12"})
	again, err := l.NewReader(12, make(Signal, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	equal(t, "resumed after the first", drain(t, again, 4), []string{"DELETED ns/b@12/12", "DELETED ns/c@12/12"})
}

func TestFutureReaderIsSilentUpToItsPosition(t *testing.T) {
	l := loaded(t, 10, Config{})
	d := l.Decoder()
	r, err := l.NewReader(12, make(Signal, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	write(t, l, pod{"ns", "a", "u1", "n", "x", 11}.op(t, d), pod{"ns", "b", "u2", "n", "x", 12}.op(t, d))
	equal(t, "up to 12", drain(t, r, 4), nil)
	write(t, l, pod{"ns", "c", "u3", "n", "x", 13}.op(t, d))
	equal(t, "behind 12", drain(t, r, 4), []string{"ADDED ns/c@13/13"})
}

func TestPositionOfAnotherHistoryIsCompacted(t *testing.T) {
	l := loaded(t, 10, Config{})
	l.SetForeign(500)
	if _, err := l.NewReader(400, nil); !errors.Is(err, ErrCompacted) {
		t.Errorf("watch from 400: %v", err)
	}
	r, err := l.NewReader(501, make(Signal, 1))
	if err != nil {
		t.Fatalf("watch from the future: %v", err)
	}
	r.Close()
}

func TestSlowReaderFallsOffTheWindow(t *testing.T) {
	l := loaded(t, 10, Config{MaxEvents: 3})
	d := l.Decoder()
	r, _ := l.NewReader(10, make(Signal, 1))
	defer r.Close()
	for rev := uint64(11); rev <= 15; rev++ {
		write(t, l, pod{"ns", "a", "u1", "n", "x", rev}.op(t, d))
	}
	if _, err := r.Read(make([]*Event, 0, 4)); !errors.Is(err, ErrCompacted) {
		t.Fatalf("read: %v", err)
	}
	if got := l.Oldest(); got != 12 {
		t.Errorf("oldest %d, want 12", got)
	}
	if _, err := l.NewReader(11, nil); !errors.Is(err, ErrCompacted) {
		t.Errorf("watch from 11: %v", err)
	}
	again, err := l.NewReader(12, make(Signal, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	equal(t, "from 12", drain(t, again, 2), []string{"MODIFIED ns/a@13/13", "MODIFIED ns/a@14/14", "MODIFIED ns/a@15/15"})
}

// TestIdleReaderOfAnIndexIsNotCut: what it doesn't want may leave the window behind its back.
func TestIdleReaderOfAnIndexIsNotCut(t *testing.T) {
	l := loaded(t, 10, Config{MaxEvents: 3})
	d := l.Decoder()
	wake := make(Signal, 1)
	r, _ := l.NewReader(10, wake, WithField("spec.nodeName", "mine"))
	defer r.Close()
	for rev := uint64(11); rev <= 30; rev++ {
		write(t, l, pod{"ns", "a", "u1", "theirs", "x", rev}.op(t, d))
	}
	if len(wake) != 0 {
		t.Error("woken by an event of another node")
	}
	write(t, l, pod{"ns", "b", "u2", "mine", "x", 31}.op(t, d))
	if len(wake) != 1 {
		t.Error("not woken")
	}
	equal(t, "events", drain(t, r, 4), []string{"ADDED ns/b@31/31"})
}

func TestCommitRefusesWhatDoesNotFollow(t *testing.T) {
	l := loaded(t, 10, Config{}, pod{"ns", "a", "u1", "n1", "x", 5})
	a := l.Snapshot().Get("ns/a")
	other := pod{"ns", "a", "u1", "n1", "x", 12}.object(t, l.Decoder())
	for name, b := range map[string]Batch{
		"position goes back":        {Rev: 9},
		"event at a known position": {Rev: 12, Events: []*Event{{Rev: 10, Type: Modified, Object: other, Prev: a}}},
		"event behind the batch":    {Rev: 11, Events: []*Event{{Rev: 12, Type: Modified, Object: other, Prev: a}}},
		"added over an object":      {Rev: 12, Events: []*Event{{Rev: 12, Type: Added, Object: other}}},
		"modified another version":  {Rev: 12, Events: []*Event{{Rev: 12, Type: Modified, Object: other, Prev: other}}},
		"deleted twice": {Rev: 12, Events: []*Event{
			{Rev: 11, Type: Deleted, Object: a, Prev: a}, {Rev: 12, Type: Deleted, Object: a, Prev: a},
		}},
		"out of order": {Rev: 12, Events: []*Event{
			{Rev: 12, Type: Deleted, Object: a, Prev: a}, {Rev: 11, Type: Added, Object: other},
		}},
	} {
		if err := l.Commit(b); !errors.Is(err, ErrOrder) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if l.Rev() != 10 || l.Snapshot().Get("ns/a") != a {
		t.Error("a refused batch left a trace")
	}
}

func TestClose(t *testing.T) {
	reason := errors.New("resource is gone")
	l := loaded(t, 10, Config{})
	wake := make(Signal, 1)
	r, _ := l.NewReader(10, wake)
	defer r.Close()
	write(t, l, pod{"ns", "a", "u1", "n", "x", 11}.op(t, l.Decoder()))
	<-wake
	l.Close(reason)
	<-wake
	equal(t, "what was there", drain1(t, r), []string{"ADDED ns/a@11/11"})
	if _, err := r.Read(make([]*Event, 0, 1)); !errors.Is(err, reason) {
		t.Errorf("read: %v", err)
	}
	if err := l.Commit(Batch{Rev: 12}); !errors.Is(err, reason) {
		t.Errorf("commit: %v", err)
	}
	if _, err := l.NewReader(11, wake); !errors.Is(err, reason) {
		t.Errorf("new reader: %v", err)
	}
}

func drain1(t *testing.T, r *Reader) []string {
	p, err := r.Read(make([]*Event, 0, 8))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range p.Events {
		out = append(out, describe(e))
	}
	return out
}

func TestWaitRev(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loaded(t, 10, Config{})
		got := make(chan error, 1)
		go func() { got <- l.WaitRev(t.Context(), 12) }()
		synctest.Wait()
		commit(t, l, Batch{Rev: 11})
		synctest.Wait()
		if len(got) != 0 {
			t.Fatal("returned at 11")
		}
		commit(t, l, Batch{Rev: 13})
		if err := <-got; err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := l.WaitRev(ctx, 14); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("in vain: %v", err)
		}
	})
}

func TestReaderOfALogThatIsNotReady(t *testing.T) {
	l := New(pods, Config{})
	if _, err := l.NewReader(0, nil); !errors.Is(err, ErrNotReady) {
		t.Fatalf("new reader: %v", err)
	}
	commit(t, l, l.Snapshot().PlanCatchup([]Op{pod{"ns", "a", "u1", "n", "x", 5}.op(t, l.Decoder())}, 9))
	<-l.Ready()
	if l.Rev() != 9 || l.Oldest() != 9 || l.Snapshot().Len() != 1 {
		t.Fatalf("first state at %d from %d with %d", l.Rev(), l.Oldest(), l.Snapshot().Len())
	}
}

// A late event that has left the window was missed by whoever was at its position before: they may not go on there.
func TestPositionOfALateEventThatLeftTheWindowIsCompacted(t *testing.T) {
	for _, hot := range []bool{true, false} {
		l := loaded(t, 10, Config{MaxEvents: 2}, pod{"ns", "a", "u1", "n", "x", 5}, pod{"ns", "b", "u2", "n", "x", 6})
		commit(t, l, l.Snapshot().Plan([]Op{{Key: "ns/a", Rev: 12}}, 12))
		commit(t, l, l.Snapshot().Plan([]Op{{Key: "ns/b", Rev: 12}}, 12)) // late: the log was at 12
		if hot {
			commit(t, l, l.Snapshot().Plan([]Op{pod{"ns", "c", "u3", "n", "x", 13}.op(t, l.Decoder())}, 13))
			commit(t, l, l.Snapshot().Plan([]Op{pod{"ns", "d", "u4", "n", "x", 14}.op(t, l.Decoder())}, 14))
		}
		r, err := l.NewReader(12, make(Signal, 1))
		if hot {
			if !errors.Is(err, ErrCompacted) {
				t.Errorf("a watch from 12 without the deletion of b: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "resumed", drain(t, r, 4), []string{"DELETED ns/b@12/12"})
		r.Close()
	}
}
