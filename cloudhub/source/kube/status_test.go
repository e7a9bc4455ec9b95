package kube

import "k8s.io/apimachinery/pkg/runtime/schema"

// status is how a resource is doing.
type status struct {
	phase   phase
	err     error
	users   int
	rev     uint64 // the log's position; 0 before the first state
	objects int
}

// status returns how a resource is doing; false when nobody has asked for it lately.
func (h *harness) status(gr schema.GroupResource) (status, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feeds[gr]
	if f == nil {
		return status{}, false
	}
	s := status{users: f.users}
	s.phase, s.err = f.condition.get()
	if f.isOpen() {
		snap := f.entries.Snapshot()
		s.rev, s.objects = snap.Rev(), snap.Len()
	}
	return s, true
}
