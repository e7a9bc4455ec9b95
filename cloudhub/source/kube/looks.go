package kube

import (
	"context"
	"time"
)

// lookAfter is when documents are read again after definitions changed, each time counted from the one before: the API
// server takes a definition into its documents some time after it reports it, the sooner the more often.
var lookAfter = []time.Duration{
	50 * time.Millisecond, 150 * time.Millisecond, 300 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second,
}

const (
	// betweenLooks is the least time between two looks while definitions change all the time.
	betweenLooks = 250 * time.Millisecond
	// settled is how long definitions must not have changed before what is large, and changes with each, is read again.
	settled = time.Second
)

// looks says when to read documents again. It belongs to one goroutine.
type looks struct {
	next  int         // in lookAfter
	timer *time.Timer // nil before the first change
	last  time.Time   // of the last look
	moved time.Time   // of the last change
}

// due is when to look; nil when there is no reason to.
func (l *looks) due() <-chan time.Time {
	if l.timer == nil {
		return nil
	}
	return l.timer.C
}

// changed begins anew: definitions have changed.
func (l *looks) changed() {
	now := time.Now()
	l.moved = now
	if l.timer != nil && l.next == 0 {
		return // a look is due already
	}
	l.stop()
	l.next = 0
	l.timer = time.NewTimer(max(lookAfter[0], betweenLooks-now.Sub(l.last)))
}

// looked says that a look was taken, and plans the next one.
func (l *looks) looked() {
	l.last = time.Now()
	l.stop()
	if l.next++; l.next < len(lookAfter) {
		l.timer = time.NewTimer(lookAfter[l.next])
	}
}

// isSettled tells whether definitions have not changed for a while.
func (l *looks) isSettled() bool { return time.Since(l.moved) >= settled }

func (l *looks) stop() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// follow calls look whenever documents may have changed, until ctx ends: after a signal, again for a while behind it, and
// every period. whole is set when all is to be read, whatever seems unchanged.
func follow(ctx context.Context, signal <-chan struct{}, period time.Duration, look func(whole, isSettled bool)) error {
	periodic := time.NewTicker(period)
	defer periodic.Stop()
	var l looks
	defer l.stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-signal:
			l.changed()
		case <-periodic.C:
			look(true, true)
		case <-l.due():
			look(false, l.isSettled())
			l.looked()
		}
	}
}
