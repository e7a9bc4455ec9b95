package demand

import (
	"sync/atomic"
	"time"
)

// wish is a resource that is wanted.
type wish struct {
	// used is when the resource was last used, since the book's start. What came before that is less than 0.
	used atomic.Int64
	// noted is used as it was last saved. Guarded by Book.mu.
	noted time.Duration
	// late is set once somebody has waited in vain: the others need not. Guarded by Book.mu.
	late bool
	// changed is closed, and replaced, when a wait for the resource may have come to its end. Guarded by Book.mu.
	changed chan struct{}
}

func newWish(used time.Duration) *wish {
	w := &wish{noted: used, changed: make(chan struct{})}
	w.used.Store(int64(used))
	return w
}

// wake has everybody who waits look again. Book.mu is held.
func (w *wish) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// refusal is the memory of a wish that was not granted.
type refusal struct {
	reason string
	until  time.Duration // since the book's start
}
