package syncsrv

import (
	"sync"
	"time"
)

const (
	// clockGrain is how exact the clock is: it wakes so much too late at most, and too early never by less than its
	// horizon.
	clockGrain = 25 * time.Millisecond
	// clockRound is how many grains the clock looks ahead. Who wants to be woken later is woken at its end, and asks again.
	clockRound = 256
	// roomySlot is for how many jobs a slot keeps its room: at 10,000 sessions that tick every 5 s a grain has 50.
	roomySlot = 128
)

// clock wakes jobs when their time has come. All sessions share it, so that none has a timer of its own. It runs while
// somebody is to be woken.
type clock struct {
	queue *queue
	spawn func(run func())
	stop  <-chan struct{} // closed when the clock is to stop for good

	mu      sync.Mutex // guards all below
	slots   [clockRound][]*job
	waiting int       // jobs in all slots
	running bool      // the goroutine is there
	start   time.Time // of grain 0
	done    int64     // grains up to this one have been looked at
}

// at has the job woken at t, or before that, and returns when. There is no way to take that back: what is not due any more
// is woken in vain.
func (c *clock) at(t time.Time, j *job) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running {
		c.start, c.done = time.Now(), 0
	}
	grain := int64((t.Sub(c.start) + clockGrain - 1) / clockGrain)
	grain = min(max(grain, c.done+1), c.done+clockRound-1)
	slot := &c.slots[grain%clockRound]
	*slot = append(*slot, j)
	c.waiting++
	if !c.running && c.spawn != nil {
		c.running = true
		c.spawn(c.run)
	}
	return c.start.Add(time.Duration(grain) * clockGrain)
}

func (c *clock) run() {
	tick := time.NewTicker(clockGrain)
	defer tick.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-tick.C:
		}
		due, goOn := c.advance(time.Now())
		for _, j := range due {
			c.queue.wake(j)
		}
		if !goOn {
			return
		}
	}
}

// advance returns who is due, and whether anybody else waits: else the clock has stopped.
func (c *clock) advance(now time.Time) (due []*job, goOn bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	upto := int64(now.Sub(c.start) / clockGrain)
	for n := 0; c.done < upto && n < clockRound; n++ {
		c.done++
		slot := &c.slots[c.done%clockRound]
		due = append(due, *slot...)
		clear(*slot)
		if *slot = (*slot)[:0]; cap(*slot) > roomySlot {
			*slot = nil // after a storm, there would be room for all of it in each slot
		}
	}
	c.done = max(c.done, upto)
	c.waiting -= len(due)
	c.running = c.waiting > 0
	return due, c.running
}
