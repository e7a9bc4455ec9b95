package session

import (
	"fmt"
	"slices"
	"time"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// need is what a replica waits for after patches that did not apply.
type need struct {
	keys  []string
	since time.Time // zero while the hub has said that it will take its time
}

const (
	// maxNeeded is how many keys a Need may have.
	maxNeeded = 4096
	// needLimit is how long a hub may leave a Need without an answer.
	needLimit = 30 * time.Second
)

// missed returns the keys of a need, which may be nil.
func (n *need) missed() []string {
	if n == nil {
		return nil
	}
	return n.keys
}

// pause stops the time of a need, which may be nil.
func (n *need) pause() {
	if n != nil {
		n.since = time.Time{}
	}
}

// miss gives up the step of r under way, because patches of these keys did not apply. The replica is at rev.
func (s *session) miss(r *replica, keys []string, rev uint64) error {
	s.c.metrics.misses.Add(float64(len(keys)))
	s.c.log.Warn("patches do not apply, the objects are asked for whole", "resource", r.gr, "at", rev, "objects", len(keys),
		"first", keys[0])
	r.step.exact = nil
	r.setLive(false, s.c.lastHeard())
	if s.c.trust.missed(time.Now()) {
		return s.distrust()
	}
	return s.sendNeed(r, keys, rev)
}

// sendNeed asks for objects whole, and for all that is behind rev again.
func (s *session) sendNeed(r *replica, keys []string, rev uint64) error {
	r.need = &need{keys: keys, since: time.Now()}
	return s.stream.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Need{Need: &tombolov1.Need{
		Subscription: s.numbers[r], Keys: keys[:min(len(keys), maxNeeded)], Rev: rev,
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

// noteMissed adds a key to those that patches missed.
func noteMissed(keys []string, key string) []string {
	if slices.Contains(keys, key) {
		return keys
	}
	return append(keys, key)
}
