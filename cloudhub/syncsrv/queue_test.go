package syncsrv

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// worker runs functions as a job.
type worker func(kind) bool

func (w worker) turn(k kind) bool { return w(k) }

// TestQueueBulkDelaysNoneThatIsUrgent: with one worker, and many jobs that always have more to do, what is woken has its turn
// before them, and they still have theirs.
func TestQueueBulkDelaysNoneThatIsUrgent(t *testing.T) {
	var wg sync.WaitGroup
	q := &queue{workers: 1, spawn: wg.Go}
	var order []string // there is one worker
	var all []*job
	add := func(name string, turns int) *job {
		j := &job{work: worker(func(k kind) bool {
			if k == urgent {
				order = append(order, name)
				return turns > 0
			}
			order = append(order, name+" bulk")
			turns--
			return turns > 0
		})}
		all = append(all, j)
		return j
	}
	hold := make(chan struct{})
	q.later(&job{work: worker(func(kind) bool { <-hold; return false })})
	for i := range 3 {
		q.later(add(fmt.Sprint("big", i), 4))
	}
	for i := range 2 * bulkEvery {
		q.wake(add(fmt.Sprint("small", i), 0))
	}
	close(hold)
	wg.Wait()
	bulkBefore := 0
	for i, name := range order {
		if name == fmt.Sprint("small", 2*bulkEvery-1) {
			bulkBefore = i - (2*bulkEvery - 1)
		}
	}
	if bulkBefore == 0 || bulkBefore > 3 {
		t.Errorf("%d bulk turns before the last urgent one: %q", bulkBefore, order)
	}
	rest := slices.DeleteFunc(slices.Clone(order), func(s string) bool { return s[:5] == "small" })
	want := []string{"big0 bulk", "big1 bulk", "big2 bulk"}
	if !slices.Equal(rest, slices.Concat(want, want, want, want)) {
		t.Errorf("bulk turns: %q", rest)
	}
}

// TestQueueWokenInItsTurnRunsAgain, and so does one that has more to do; one that was finished does not.
func TestQueueWokenInItsTurnRunsAgain(t *testing.T) {
	var wg sync.WaitGroup
	q := &queue{workers: 2, spawn: wg.Go}
	var got []kind
	j := &job{}
	j.work = worker(func(k kind) bool {
		if got = append(got, k); len(got) == 1 {
			q.wake(j)
			q.wake(j)
			q.later(j)
		}
		return len(got) < 4
	})
	q.wake(j)
	wg.Wait()
	if want := []kind{urgent, urgent, bulk, bulk}; !slices.Equal(got, want) {
		t.Errorf("turns: %v, want %v", got, want)
	}
	q.finish(j)
	q.wake(j)
	q.later(j)
	wg.Wait()
	if len(got) != 4 {
		t.Error("it runs after its end")
	}
}

// TestQueueFinishWaitsForTheTurn and nothing runs behind it, though it wants to.
func TestQueueFinishWaitsForTheTurn(t *testing.T) {
	var wg sync.WaitGroup
	q := &queue{workers: 2, spawn: wg.Go}
	var in, turns atomic.Int32
	inside, leave := make(chan struct{}), make(chan struct{})
	j := &job{}
	j.work = worker(func(kind) bool {
		in.Store(1)
		if turns.Add(1) == 1 {
			close(inside)
		}
		<-leave
		q.wake(j)
		in.Store(0)
		return true
	})
	q.wake(j)
	<-inside
	go close(leave)
	q.finish(j)
	if in.Load() != 0 {
		t.Error("finish did not wait")
	}
	wg.Wait()
	if turns.Load() != 1 {
		t.Errorf("%d turns", turns.Load())
	}
}

// TestQueueLosesNoWake: many goroutines give jobs work and wake them; each job runs in one place at a time, and when the
// queue has come to rest, all that was given has been taken.
func TestQueueLosesNoWake(t *testing.T) {
	for seed := range uint64(20) {
		var wg, wakers sync.WaitGroup
		q := &queue{workers: 4, spawn: wg.Go}
		type box struct {
			job
			given, taken atomic.Int64
			heavy        atomic.Int64 // work for bulk turns
			in           atomic.Int32
		}
		boxes := make([]*box, 20)
		for i := range boxes {
			b := &box{}
			b.work = worker(func(k kind) bool {
				if b.in.Add(1) != 1 {
					t.Error("two workers have one job")
				}
				defer b.in.Add(-1)
				b.taken.Store(b.given.Load())
				if k == bulk && b.heavy.Load() > 0 {
					b.heavy.Add(-1)
				}
				return b.heavy.Load() > 0
			})
			boxes[i] = b
		}
		for w := range uint64(4) {
			rng := rand.New(rand.NewPCG(seed, w))
			wakers.Go(func() {
				for range 2000 {
					b := boxes[rng.IntN(len(boxes))]
					if rng.IntN(4) == 0 {
						b.heavy.Add(1)
						q.later(&b.job)
						continue
					}
					b.given.Add(1)
					q.wake(&b.job)
				}
			})
		}
		wakers.Wait()
		wg.Wait()
		for i, b := range boxes {
			if b.taken.Load() != b.given.Load() || b.heavy.Load() != 0 {
				t.Fatalf("seed %d: job %d has taken %d of %d, %d heavy are left", seed, i, b.taken.Load(), b.given.Load(), b.heavy.Load())
			}
		}
		if q.active != 0 || q.inBulk != 0 || !q.lines[urgent].empty() || !q.lines[bulk].empty() {
			t.Fatalf("seed %d: the queue is not at rest", seed)
		}
	}
}
