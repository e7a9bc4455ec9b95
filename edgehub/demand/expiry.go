package demand

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Linked notes that there is a hub to ask. The time without one does not count as idle, and another hub may grant what
// the last one refused.
func (b *Book) Linked() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.refused)
	if b.linked {
		return
	}
	now := b.now()
	for _, w := range b.wishes {
		used := time.Duration(w.used.Load())
		w.used.Store(int64(now - max(0, b.away-used)))
	}
	b.linked = true
}

// Unlinked notes that there is no hub to ask any more. Nobody goes on waiting.
func (b *Book) Unlinked() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.linked {
		return
	}
	b.linked, b.away = false, b.now()
	for _, w := range b.wishes {
		w.wake()
	}
}

// Expired returns the resources that have not been used for too long, none while there is no hub. Those that inUse says
// are used at this moment count as just used.
func (b *Book) Expired(inUse func(schema.GroupResource) bool) []schema.GroupResource {
	wanted, _ := b.Resources()
	for _, gr := range wanted {
		if inUse(gr) {
			b.Touch(gr)
		}
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if !b.linked || b.expiry == 0 {
		return nil
	}
	now := int64(b.now())
	return slices.DeleteFunc(wanted, func(gr schema.GroupResource) bool {
		w := b.wishes[gr]
		return w == nil || now-w.used.Load() < int64(b.expiry)
	})
}
