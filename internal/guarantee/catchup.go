package guarantee

import (
	"context"
	"fmt"
	"sort"
	"strings"
)

// CatchUp waits until the reader holds exactly the objects, at the versions, that the history
// knows and the reader's match admits. Call it after the writers stopped, and for the sources
// first. It returns an error that names differences when ctx ends first.
func (r *Reader) CatchUp(ctx context.Context) error {
	h := r.h
	h.mu.Lock()
	defer h.mu.Unlock()
	present := h.presentLocked(r.cfg.Resource)
	changes, want := present.changes, present.matching(r.cfg.Match)
	err := h.waitLocked(ctx, func() bool {
		if changes != present.changes {
			changes, want = present.changes, present.matching(r.cfg.Match)
		}
		return r.view.holds(want)
	})
	if err != nil {
		return fmt.Errorf("reader %s of %s at %d doesn't hold the cloud's state: %s: %w",
			r.cfg.Name, r.cfg.Resource, r.view.position, difference(r.view.objects, want), err)
	}
	return nil
}

// CatchUpRev waits until the reader's position is at least rev, by an event, a bookmark or a
// list. On a quiet resource that takes as long as the server's bookmarks are apart.
func (r *Reader) CatchUpRev(ctx context.Context, rev uint64) error {
	h := r.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.waitLocked(ctx, func() bool { return r.view.position >= rev }); err != nil {
		return fmt.Errorf("reader %s of %s at %d isn't at %d: %w", r.cfg.Name, r.cfg.Resource, r.view.position, rev, err)
	}
	return nil
}

// Await waits until an object of that key is shown at rev or newer; rev 0 waits for its absence.
func (r *Reader) Await(ctx context.Context, key string, rev uint64) error {
	h := r.h
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.waitLocked(ctx, func() bool {
		o, ok := r.view.objects[key]
		return r.view.objects != nil && ok == (rev > 0) && o.RV >= rev
	})
	if err != nil {
		return fmt.Errorf("reader %s of %s at %d waits for %s@%d: %w", r.cfg.Name, r.cfg.Resource, r.view.position, key, rev, err)
	}
	return nil
}

// difference names some of the keys on which the two states differ.
func difference(have map[string]Object, want map[string]uint64) string {
	var lines []string
	for key, rv := range want {
		if o, ok := have[key]; !ok {
			lines = append(lines, fmt.Sprintf("%s@%d is missing", key, rv))
		} else if o.RV != rv {
			lines = append(lines, fmt.Sprintf("%s is at %d, not %d", key, o.RV, rv))
		}
	}
	for key, o := range have {
		if _, ok := want[key]; !ok {
			lines = append(lines, fmt.Sprintf("%s@%d should be gone", key, o.RV))
		}
	}
	sort.Strings(lines)
	const most = 5
	if len(lines) > most {
		lines = append(lines[:most], fmt.Sprintf("and %d more", len(lines)-most))
	}
	return strings.Join(lines, "; ")
}
