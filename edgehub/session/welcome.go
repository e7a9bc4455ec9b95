package session

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

func (s *session) welcome(w *tombolov1.Welcome) error {
	switch {
	case s.welcomed:
		return errors.New("the hub sent a second Welcome")
	case w.GetVersion() != Version:
		return fmt.Errorf("%w: the hub speaks %d, this edge speaks %d", errVersion, w.GetVersion(), Version)
	}
	s.agreed = s.offered.meet(w.GetCapabilities())
	resumed, agreed, err := s.readResumed(w)
	if err != nil {
		return fmt.Errorf("the hub's Welcome: %w", err)
	}
	s.begin()
	s.welcomed = true
	s.useful = time.Now()
	s.progress = min(max(time.Second, time.Duration(w.GetProgressIntervalMs())*time.Millisecond), maxBeat)
	s.c.metrics.sessions.Inc()
	s.c.linked.Store(true)
	s.c.wishes.Linked()
	s.c.conn.Store(s.conn)
	s.c.log.Info("connected", "hub", s.hub, "software", w.GetSoftware(), "cluster", s.epoch,
		"held", len(s.greeting.positions), "resumed", len(resumed), "agreed", len(agreed))
	if err := s.dropForeign(); err != nil {
		return err
	}
	var scope []schema.GroupResource
	for _, r := range w.GetScope() {
		scope = append(scope, groupResource(r))
	}
	s.c.await(scope)
	if err := s.resume(resumed, agreed); err != nil {
		return err
	}
	for _, r := range s.c.replicas {
		r.setLive(r.live, s.c.lastHeard())
	}
	return nil
}

// begin takes the replicas over, from the session before if one goes on. Their logs say nothing of that: the Welcome may
// agree with what they hold.
func (s *session) begin() {
	s.opened()
	s.openDesk()
	for _, r := range s.c.replicas {
		r.live, r.lost, r.waits, r.asked, r.sums, r.need, r.missed, r.inventories = false, false, false, false, nil, nil, nil, 0
		r.step.release()
	}
}

func groupResource(r *tombolov1.Resource) schema.GroupResource {
	return schema.GroupResource{Group: r.GetGroup(), Resource: r.GetResource()}
}

// readResumed takes over the cluster that a Welcome names, and returns the numbers of the positions that it resumes, and
// of those that it agrees with.
func (s *session) readResumed(w *tombolov1.Welcome) (resumed, agreed []uint32, err error) {
	resumed, agreed = w.GetResumed(), w.GetAgreed()
	if s.epoch = w.GetEpoch(); s.epoch == "" && len(resumed) > 0 {
		s.epoch = s.greeting.epoch
	}
	switch {
	case s.epoch == "":
		return nil, nil, errors.New("it does not name the cluster")
	case len(resumed) > 0 && !s.agreed.resumed:
		return nil, nil, errors.New("it resumes positions, which was not agreed on")
	}
	if err := ascending(resumed); err != nil {
		return nil, nil, fmt.Errorf("resumed: %w", err)
	}
	for _, n := range resumed {
		if err := s.resumable(n); err != nil {
			return nil, nil, fmt.Errorf("resumed: position %d %w", n, err)
		}
	}
	if err := ascending(agreed); err != nil {
		return nil, nil, fmt.Errorf("agreed: %w", err)
	}
	if n, ok := stray(agreed, resumed); ok {
		return nil, nil, fmt.Errorf("agreed: position %d is not resumed", n)
	}
	return resumed, agreed, nil
}

// ascending fails unless every number is greater than the one before it.
func ascending(numbers []uint32) error {
	for i := 1; i < len(numbers); i++ {
		if numbers[i] <= numbers[i-1] {
			return fmt.Errorf("position %d behind position %d", numbers[i], numbers[i-1])
		}
	}
	return nil
}

// stray returns the first of some ascending numbers that is not among others, which ascend too.
func stray(numbers, among []uint32) (uint32, bool) {
	for _, n := range numbers {
		for len(among) > 0 && among[0] < n {
			among = among[1:]
		}
		if len(among) == 0 || among[0] != n {
			return n, true
		}
	}
	return 0, false
}

// resumable fails for a position of the Hello that can't be resumed.
func (s *session) resumable(n uint32) error {
	if uint64(n) >= uint64(len(s.greeting.positions)) {
		return fmt.Errorf("is none of the %d that were sent", len(s.greeting.positions))
	}
	switch r := s.greeting.positions[n]; {
	case !r.log.IsReady():
		return fmt.Errorf("is of %s, which has no state", r.gr)
	case r.pending.epoch != s.epoch:
		return fmt.Errorf("is of %s, which is of another cluster", r.gr)
	}
	return nil
}

// resume goes on with what is resumed as it stands, as if a Subscription had come for each.
func (s *session) resume(resumed, agreed []uint32) error {
	for _, n := range resumed {
		r := s.greeting.positions[n]
		s.c.metrics.plans.WithLabelValues(tombolov1.Plan_PLAN_RESUME.String()).Inc()
		s.c.log.Debug("resource", "resource", r.gr, "plan", "resumed", "from", r.log.Rev())
		s.ids[n+1], s.numbers[r] = r, n+1
		r.step.open = false
		r.pending = target{s.epoch, r.view}
		if err := s.discardStaged(r); err != nil {
			return err
		}
	}
	for _, n := range agreed {
		s.greeting.positions[n].setLive(true, time.Time{})
		s.progressed = true
	}
	return nil
}
