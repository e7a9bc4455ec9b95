package session

import (
	"maps"
	"slices"
	"time"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// greeting is what a Hello said of what the edge holds.
type greeting struct {
	epoch     string     // of what has no epoch of its own
	positions []*replica // by their numbers
}

// hello tells the hub what the edge holds.
func (s *session) hello() error {
	s.offered = s.c.trust.capabilities(time.Now())
	h := &tombolov1.Hello{
		Version: Version, Capabilities: s.offered.list(), Edge: s.c.cfg.Edge, Software: s.c.cfg.Software, DocumentsHash: s.c.docs.Hash(),
		Demand: s.wishes(),
	}
	for _, gr := range slices.SortedFunc(maps.Keys(s.c.replicas), compareResources) {
		r := s.c.replicas[gr]
		if h.GetEpoch() == "" {
			h.Epoch = r.pending.epoch
		}
		p := &tombolov1.Position{
			Resource: &tombolov1.Resource{Group: gr.Group, Resource: gr.Resource},
			View:     r.known(), Rev: r.log.Rev(), StagedRev: r.step.staged,
			Count: r.digest.Count, Digest: r.digest.Bytes(),
		}
		if r.pending.epoch != h.GetEpoch() {
			p.Epoch = r.pending.epoch
		}
		h.Positions = append(h.Positions, p)
		s.greeting.positions = append(s.greeting.positions, r)
	}
	s.greeting.epoch = h.GetEpoch()
	return s.stream.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Hello{Hello: h}})
}

// known returns the view that the data is of; of a first sync, the view that it leads to.
func (r *replica) known() string {
	if r.log.IsReady() {
		return r.view
	}
	return r.pending.view
}
