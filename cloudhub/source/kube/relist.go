package kube

import "sync"

// relist is the wish for a reflector to read everything again: because its store missed something (a reflector takes
// errors of its store for log messages and goes on), or because objects changed without an event.
type relist struct {
	mu     sync.Mutex
	left   int    // how many whole states must be stored before a watch may be resumed
	cancel func() // ends the watch that is open; nil before the first
}

// onAsk has cancel called when a relist is asked for, in place of what was given before.
func (r *relist) onAsk(cancel func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel = cancel
}

// ask ends the watch; the next one will be refused until done is called.
func (r *relist) ask() { r.atLeast(1) }

// askTwice is ask, and has everything read once more when the watch behind the first reading ends. A server that is about
// to change what it answers ends its watches then.
func (r *relist) askTwice() { r.atLeast(2) }

func (r *relist) atLeast(states int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = max(r.left, states)
	if r.cancel != nil {
		r.cancel()
	}
}

// done says that a whole state was stored.
func (r *relist) done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = max(r.left-1, 0)
}

func (r *relist) wanted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left > 0
}
