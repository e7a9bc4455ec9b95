package store

import (
	"errors"
	"sync"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// failing returns a failpoint that fails the steps in the set.
func failing(steps map[string]error) func(string) error {
	return func(step string) error { return steps[step] }
}

func TestACommitThatFailsLeavesNoTrace(t *testing.T) {
	steps := map[string]error{}
	e := newEdge(t, Options{Failpoint: failing(steps)})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	b := e.log.Snapshot().Plan([]watchlog.Op{put(pod(t, "a", "u1", 11, 10))}, 11)
	steps[StepCommit] = errors.New("no")
	if err := e.store.Update(func(tx *Tx) error { return tx.Apply(podsGR, b) }); !errors.Is(err, steps[StepCommit]) {
		t.Fatal(err)
	}
	e.verify()
	delete(steps, StepCommit)
	e.commit(b)
	e.verify()
}

// The last fsync failed but the next commit went through: the update did happen.
func TestACommitInDoubtIsConfirmed(t *testing.T) {
	steps := map[string]error{}
	logger, said := logTo()
	e := newEdge(t, Options{Failpoint: failing(steps), Logger: logger})
	steps[StepCommitted] = errors.New("fsync failed")
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	if said.Len() == 0 {
		t.Fatal("nothing was logged")
	}
	delete(steps, StepCommitted)
	e.verify()
	e.reopen()
	e.verify()
}

// Nobody can tell whether the update happened: nothing may be read or written until the file is opened again.
func TestACommitThatStaysInDoubtEndsTheStore(t *testing.T) {
	steps := map[string]error{}
	e := newEdge(t, Options{Failpoint: failing(steps)})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	b := e.log.Snapshot().Plan([]watchlog.Op{put(pod(t, "a", "u1", 11, 10))}, 11)
	steps[StepCommitted], steps[StepConfirm] = errors.New("fsync failed"), errors.New("again")
	err := e.store.Update(func(tx *Tx) error { return tx.Apply(podsGR, b) })
	if !errors.Is(err, ErrFailed) || !errors.Is(err, steps[StepCommitted]) || !errors.Is(err, steps[StepConfirm]) {
		t.Fatal(err)
	}
	clear(steps)
	if err := e.store.Update(func(*Tx) error { return nil }); !errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
	if _, err := e.store.Resources(); !errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
	if err := e.store.Close(); err != nil {
		t.Fatal(err)
	}
	if r := check(t, e.dir); r.Clean {
		t.Fatal("the file says that it was closed in order")
	}
	e.store = open(t, e.dir, Options{})
	e.show(b)
	e.verify() // here it did happen
}

func TestAPanicInAnUpdateRollsBack(t *testing.T) {
	e := newEdge(t, Options{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = e.store.Update(func(tx *Tx) error {
			if err := tx.Apply(podsGR, watchlog.Batch{Rev: 10}); err != nil {
				t.Error(err)
			}
			panic("bug")
		})
	}()
	e.verify()
	e.commit(e.log.Snapshot().PlanReplace(nil, 10))
	e.verify()
}

func TestAClosedStore(t *testing.T) {
	e := newEdge(t, Options{})
	for range 2 {
		if err := e.store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.store.Update(func(*Tx) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if _, err := e.store.Load(podsGR, watchlog.NewDecoder(pods)); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

// A file that could not be marked as closed is closed all the same, and verified when it is opened.
func TestACloseThatFailsLeavesAnUncleanFile(t *testing.T) {
	e := newEdge(t, Options{Failpoint: failing(map[string]error{StepClose: errors.New("no")})})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	if err := e.store.Close(); err == nil {
		t.Fatal("no error")
	}
	if r := check(t, e.dir); r.Clean {
		t.Fatal("the file says that it was closed in order")
	}
	e.store = open(t, e.dir, Options{})
	e.verify()
	if err := e.store.Close(); err != nil {
		t.Fatal(err)
	}
	if r := check(t, e.dir); !r.Clean {
		t.Fatal("the file says that it was not closed in order")
	}
}

// Opening and reading alone must work on a full disk: they write nothing.
func TestOpeningAndReadingWritesNothing(t *testing.T) {
	dir := filled(t)
	no := errors.New("nothing is to be written")
	s := open(t, dir, Options{Failpoint: func(step string) error { return errors.Join(no, errors.New(step)) }})
	load(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestConcurrentReadersAndWriters(t *testing.T) {
	e := newEdge(t, Options{Window: watchlog.Config{MaxEvents: 20}})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 20_000)}, 10))
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				c, err := e.store.Load(podsGR, watchlog.NewDecoder(pods))
				if err != nil || watchlog.New(pods, watchlog.Config{}).Load(c.Content) != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for rev := uint64(11); rev < 60; rev++ {
		e.live(put(pod(t, "a", "u1", rev, 20_000)))
	}
	close(done)
	wg.Wait()
	e.verify()
}
