package session

import (
	"fmt"
	"maps"
	"slices"
	"time"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// need is set at a replica that waits for objects whole.
type need struct {
	since time.Time // zero while the hub has said that it will take its time
}

const (
	// maxNeeded is how many keys a Need may have.
	maxNeeded = 4096
	// needLimit is how long a hub may leave a Need without an answer.
	needLimit = 30 * time.Second
)

// pause stops the time of a need, which may be nil.
func (n *need) pause() {
	if n != nil {
		n.since = time.Time{}
	}
}

// miss gives up the step of r under way, because patches did not apply. The replica is at rev.
func (s *session) miss(r *replica, missed map[string]uint64, rev uint64) error {
	s.c.metrics.misses.Add(float64(len(missed)))
	s.c.log.Warn("patches do not apply, the objects are asked for whole", "resource", r.gr, "at", rev, "objects", len(missed))
	r.step.release()
	r.setLive(false, s.c.lastHeard())
	if s.c.trust.missed(time.Now(), r.miss(missed, rev)) {
		return s.distrust()
	}
	return s.sendNeed(r, rev)
}

// miss notes where patches did not apply. It tells whether that was so before of one of the objects, which came whole
// since.
func (r *replica) miss(missed map[string]uint64, rev uint64) (again bool) {
	if r.missed == nil {
		r.missed = map[string]uint64{}
	}
	for key, at := range missed {
		last, known := r.missed[key]
		if again = again || known && last <= rev; !known || last <= rev {
			r.missed[key] = at
		}
	}
	return again
}

// sendNeed asks for all that is behind rev again, and whole where patches did not apply there: also those that missed
// earlier, because what came whole meanwhile may have been dropped for the sake of another miss.
func (s *session) sendNeed(r *replica, rev uint64) error {
	r.need = &need{since: time.Now()}
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(r.missed)) {
		if r.missed[key] > rev && len(keys) < maxNeeded {
			keys = append(keys, key)
		}
	}
	return s.stream.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Need{Need: &tombolov1.Need{
		Subscription: s.numbers[r], Keys: keys, Rev: rev,
	}}})
}

// unhealed returns the reason to leave a hub that does not answer a Need.
func (s *session) unhealed(now time.Time) error {
	for _, r := range s.c.replicas {
		if r.need != nil && !r.need.since.IsZero() && now.Sub(r.need.since) > needLimit {
			s.c.trust.lose(now)
			return s.distrust()
		}
	}
	return nil
}

// distrust says that objects come whole from now on, which takes a new session.
func (s *session) distrust() error {
	s.c.log.Warn("the hub's patches do not apply: objects come whole for now", "hub", s.hub, "for", distrust)
	return fmt.Errorf("%w: objects come whole for %v", errPatches, distrust)
}
