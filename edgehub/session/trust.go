package session

import (
	"errors"
	"sync/atomic"
	"time"
)

// trust is how far hubs' patches and frames are relied on. A patch that does not apply is no fault by itself, since hubs
// may hold other bytes of the same revision; but many of them with few good ones between are dearer than whole objects.
type trust struct {
	score int                       // misses add to it, a patch that applies takes back one; never negative
	until atomic.Pointer[time.Time] // nil: never lost; with its monotonic part
}

const (
	missWeight  = 1 // of an object's first miss in a session
	againWeight = 8 // of an object that came whole in the session and missed again: the hub is at fault, or the link
	maxScore    = 64
	// distrust is how long objects come whole after too many misses.
	distrust = time.Hour
)

// errPatches ends a session whose hub's patches cost more than they save.
var errPatches = errors.New("the hub's patches do not apply")

// capabilities returns what the edge offers to hubs now.
func (t *trust) capabilities(now time.Time) capabilities {
	if t.lost(now) {
		return capabilities{ranges: true, resumed: true, lazy: true}
	}
	return capabilities{patches: true, frames: true, ranges: true, resumed: true, lazy: true}
}

// lost tells whether objects are to come whole for now. Any goroutine may call it.
func (t *trust) lost(now time.Time) bool {
	until := t.until.Load()
	return until != nil && now.Before(*until)
}

// applied notes patches that applied.
func (t *trust) applied(n int) { t.score = max(0, t.score-n) }

// missed notes a miss, and tells whether it was one too many.
func (t *trust) missed(now time.Time, again bool) bool {
	t.score += missWeight
	if again {
		t.score += againWeight - missWeight
	}
	if t.score < maxScore {
		return false
	}
	t.lose(now)
	return true
}

// lose ends the trust for a while.
func (t *trust) lose(now time.Time) {
	t.score = 0
	until := now.Add(distrust)
	t.until.Store(&until)
}
