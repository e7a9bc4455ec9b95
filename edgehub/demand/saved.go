package demand

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// saved is a wish as it is kept on disk.
type saved struct {
	Group    string    `json:"group,omitempty"`
	Resource string    `json:"resource"`
	Used     time.Time `json:"used"` // by the wall clock, to a minute or so
}

// Encode returns the book's wishes for Decode, and takes note that they are saved; "" when there are none.
func (b *Book) Encode() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wishes) == 0 {
		return "", nil
	}
	var all []saved
	now, wall := b.now(), time.Now().UTC()
	for gr, w := range b.wishes {
		w.noted = time.Duration(w.used.Load())
		all = append(all, saved{gr.Group, gr.Resource, wall.Add(w.noted - now).Truncate(time.Second)})
	}
	slices.SortFunc(all, func(a, b saved) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	})
	text, err := json.Marshal(all)
	return string(text), err
}

// Unsaved tells whether some resource was used since it was saved, by more than a time.
func (b *Book) Unsaved(by time.Duration) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, w := range b.wishes {
		if time.Duration(w.used.Load())-w.noted > by {
			return true
		}
	}
	return false
}

// Decode adds the wishes of an earlier process, which last heard of a hub at the time given: only until then they were
// idle. It fails for what Encode did not write.
func (b *Book) Decode(text string, heard time.Time) error {
	if text == "" {
		return nil
	}
	var all []saved
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return fmt.Errorf("resources on demand: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range all {
		if s.Resource == "" {
			return errors.New("resources on demand: one without a name")
		}
		idle := max(0, heard.Sub(s.Used))
		b.wishes[schema.GroupResource{Group: s.Group, Resource: s.Resource}] = newWish(-idle)
	}
	return nil
}
