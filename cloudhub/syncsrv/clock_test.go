package syncsrv

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestClockWakesWhenItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		stop := make(chan struct{})
		q := &queue{workers: 1, spawn: wg.Go}
		c := &clock{queue: q, spawn: wg.Go, stop: stop}
		start := time.Now()
		for _, in := range []time.Duration{-time.Second, 0, time.Millisecond, 100 * time.Millisecond, 5 * time.Second, time.Hour} {
			var woken time.Time
			promised := c.at(start.Add(in), &job{work: worker(func(kind) bool { woken = time.Now(); return false })})
			wg.Wait() // the clock stops when nobody waits
			if late := woken.Sub(promised); late < 0 || late > clockGrain {
				t.Errorf("in %v: woken %v after what it said", in, late)
			}
			horizon := clockRound * clockGrain
			if early := start.Add(in).Sub(promised); early > 0 && in < horizon-2*clockGrain {
				t.Errorf("in %v: woken %v too early", in, early)
			}
			if promised.Sub(start) > in+2*clockGrain && in > 0 {
				t.Errorf("in %v: promised for %v", in, promised.Sub(start))
			}
			start = time.Now()
		}
		c.at(start.Add(time.Second), &job{work: worker(func(kind) bool { t.Error("a stopped clock wakes"); return false })})
		close(stop)
		wg.Wait()
	})
}
