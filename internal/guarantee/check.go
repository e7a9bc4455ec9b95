package guarantee

import (
	"fmt"
	"maps"
	"slices"
)

// Check judges everything recorded so far. Call it when the run is over, after
// [History.Settle]: without that the final states are not judged. The violations come by
// resource and reader, oldest first; at most ten of a kind for each reader.
func (h *History) Check() []Violation {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := &report{}
	h.untold = nil
	for _, resource := range h.resourcesLocked() {
		h.judgeLocked(resource, out)
	}
	for _, g := range h.gauges {
		if g.Value > g.Limit {
			out.violations = append(out.violations, Violation{Err: ErrBounded, Reader: g.Server,
				Detail: fmt.Sprintf("%s of %s is %g, the limit is %g", g.Name, g.Server, g.Value, g.Limit)})
		}
	}
	return out.violations
}

func (h *History) resourcesLocked() []string {
	names := map[string]struct{}{}
	for resource := range h.writes {
		names[resource] = struct{}{}
	}
	for _, r := range h.readers {
		names[r.cfg.Resource] = struct{}{}
	}
	return slices.Sorted(maps.Keys(names))
}

// T is the part of testing.TB that Require needs.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// Require fails the test for each violation.
func (h *History) Require(t T) {
	t.Helper()
	for _, v := range h.Check() {
		t.Errorf("%v", v)
	}
}
