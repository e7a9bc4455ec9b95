package demand

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// limit is how many resources an edge may want; hubs refuse more.
	limit = 500
	// remember is how long a refusal stands, so that not every read asks the hub again.
	remember = 30 * time.Second
	// maxRefusals bounds what is remembered of them.
	maxRefusals = 1000
	// coarse is how exact times of use are, so that a read writes nothing most of the time: a minute, or less where the time
	// of expiry is short.
	coarse   = time.Minute
	fraction = 4
)

// Book is safe for concurrent use. Times in it are those of a clock that the wall clock's jumps don't move.
type Book struct {
	start  time.Time
	expiry time.Duration // 0: nothing expires

	mu      sync.RWMutex
	wishes  map[schema.GroupResource]*wish   // guarded by mu
	refused map[schema.GroupResource]refusal // guarded by mu
	// linked is set while there is a hub to ask; away is since when there is none. Guarded by mu.
	linked bool
	away   time.Duration
	// changed is closed, and replaced, when hubs are to hear what is wanted. Guarded by mu.
	changed chan struct{}
}

// New returns an empty book of an edge that has no hub yet, by which resources expire that were not used for a time. 0
// means that none does.
func New(expiry time.Duration) *Book {
	return &Book{
		start: time.Now(), expiry: expiry, wishes: map[schema.GroupResource]*wish{}, refused: map[schema.GroupResource]refusal{},
		changed: make(chan struct{}),
	}
}

func (b *Book) now() time.Duration { return time.Since(b.start) }

// Grain is how exact times of use are, and how often it makes sense to look for what has expired.
func (b *Book) Grain() time.Duration {
	if b.expiry == 0 {
		return coarse
	}
	return min(coarse, b.expiry/fraction)
}

// Has tells whether a resource is wanted.
func (b *Book) Has(gr schema.GroupResource) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.wishes[gr] != nil
}

// Len returns how many resources are wanted.
func (b *Book) Len() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.wishes)
}

// Resources returns what is wanted, sorted, and a channel that is closed when that has changed.
func (b *Book) Resources() ([]schema.GroupResource, <-chan struct{}) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(b.wishes), compare), b.changed
}

func compare(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) }

// Touch notes that a resource is in use. It is cheap, and does nothing for one that is not wanted.
func (b *Book) Touch(gr schema.GroupResource) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if w := b.wishes[gr]; w != nil {
		if now := int64(b.now()); now-w.used.Load() >= int64(b.Grain()) {
			w.used.Store(now)
		}
	}
}

// Want notes that a resource is wanted and tells whether it was not before; then the caller saves the book and calls
// Announce, or Forget if that fails. ErrOffline, ErrRefused with the reason, ErrPending, ErrFull.
func (b *Book) Want(gr schema.GroupResource) (fresh bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.linked {
		return false, ErrOffline
	}
	if w := b.wishes[gr]; w != nil {
		if w.late {
			return false, ErrPending
		}
		return false, nil
	}
	now := b.now()
	if r, ok := b.refused[gr]; ok && now < r.until {
		return false, fmt.Errorf("%w: %s", ErrRefused, r.reason)
	}
	if len(b.wishes) >= limit {
		return false, ErrFull
	}
	delete(b.refused, gr)
	b.wishes[gr] = newWish(now)
	return true, nil
}

// Announce has the hub told what is wanted.
func (b *Book) Announce() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
}

// Changed returns a channel that is closed when a wait for a resource may have come to its end. The error is why there is
// nothing to wait for: ErrOffline, ErrPending, or ErrRefused with the reason.
func (b *Book) Changed(gr schema.GroupResource) (<-chan struct{}, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	switch w := b.wishes[gr]; {
	case w == nil:
		return nil, fmt.Errorf("%w: %s", ErrRefused, b.refused[gr].reason)
	case !b.linked:
		return nil, ErrOffline
	case w.late:
		return nil, ErrPending
	default:
		return w.changed, nil
	}
}

// Late notes that somebody has waited for a resource in vain, or would: until Settle, Want lets nobody wait.
func (b *Book) Late(gr schema.GroupResource) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.wishes[gr]; w != nil {
		w.late = true
		w.wake()
	}
}

// Settle notes that a resource is there.
func (b *Book) Settle(gr schema.GroupResource) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.wishes[gr]; w != nil {
		w.late = false
		w.wake()
	}
}

// Refuse notes that the edge can't have a resource, or no longer has it, and tells whether it was wanted. The refusal
// stands for a while.
func (b *Book) Refuse(gr schema.GroupResource, reason string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.wishes[gr]
	if w == nil {
		return false
	}
	if len(b.refused) >= maxRefusals {
		clear(b.refused)
	}
	b.refused[gr] = refusal{reason, b.now() + remember}
	delete(b.wishes, gr)
	w.wake()
	return true
}

// Forget takes back that a resource is wanted.
func (b *Book) Forget(gr schema.GroupResource) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.wishes[gr]; w != nil {
		delete(b.wishes, gr)
		w.wake()
	}
}

// Reconsider forgets all refusals: what led to them may have changed.
func (b *Book) Reconsider() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.refused)
}
