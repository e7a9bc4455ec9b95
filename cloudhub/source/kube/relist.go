package kube

import "sync"

// relist is the wish for a reflector to read everything again, because its store missed something. A reflector takes
// errors of its store for log messages and goes on.
type relist struct {
	mu     sync.Mutex
	want   bool   // until the next state is stored
	cancel func() // ends the watch that is open; nil before the first
}

// onAsk has cancel called when a relist is asked for, in place of what was given before.
func (r *relist) onAsk(cancel func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel = cancel
}

// ask ends the watch; the next one will be refused until done is called.
func (r *relist) ask() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.want = true
	if r.cancel != nil {
		r.cancel()
	}
}

// done says that a whole state was stored.
func (r *relist) done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.want = false
}

func (r *relist) wanted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.want
}
