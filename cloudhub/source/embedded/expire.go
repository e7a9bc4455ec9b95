package embedded

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/codec"
)

// ages knows when Events were changed last, so that they can be deleted a while after.
type ages struct {
	ttl   time.Duration
	queue []age // oldest first; guarded by Cloud.publishing
}

// age is when an Event became the version that it had at a revision.
type age struct {
	key string
	rev uint64
	at  time.Time
}

// note remembers the Events that t has changed. Cloud.publishing is held.
func (a *ages) note(t *tx) {
	now := time.Now()
	for _, ch := range t.changes {
		if ch.resource == t.resources.events && ch.after != nil {
			a.queue = append(a.queue, age{ch.key, ch.rev, now})
		}
	}
}

// loadAges reads from the Events in the file how old they are.
func (c *Cloud) loadAges() error {
	r := c.resources.Load().events
	for o := range r.logs[0].Snapshot().All("") {
		obj, err := codec.DecodeStored(r.kind.Stored(), o.JSON())
		if err != nil {
			return err
		}
		c.ages.queue = append(c.ages.queue, age{o.Key(), o.Rev(), lastSeen(obj.(*corev1.Event))})
	}
	slices.SortStableFunc(c.ages.queue, func(a, b age) int { return a.at.Compare(b.at) })
	return nil
}

// lastSeen returns the latest time that an Event names.
func lastSeen(e *corev1.Event) time.Time {
	times := []time.Time{e.CreationTimestamp.Time, e.LastTimestamp.Time, e.EventTime.Time}
	if e.Series != nil {
		times = append(times, e.Series.LastObservedTime.Time)
	}
	return slices.MaxFunc(times, time.Time.Compare)
}

// takeOld removes and returns some of what is older than the limit.
func (c *Cloud) takeOld(now time.Time) []age {
	const most = 500 // so that no write holds up the others for long
	c.publishing.Lock()
	defer c.publishing.Unlock()
	n := 0
	for n < len(c.ages.queue) && n < most && now.Sub(c.ages.queue[n].at) > c.ages.ttl {
		n++
	}
	old := slices.Clone(c.ages.queue[:n])
	c.ages.queue = slices.Delete(c.ages.queue, 0, n)
	return old
}

// expire deletes the Events whose last change is older than the limit.
func (c *Cloud) expire(now time.Time) error {
	for old := c.takeOld(now); len(old) > 0; old = c.takeOld(now) {
		err := c.write(func(t *tx) error {
			for _, a := range old {
				if o := t.get(t.resources.events, a.key); o != nil && o.Rev() == a.rev {
					t.remove(t.resources.events, a.key, 0)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
