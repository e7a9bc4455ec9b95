package guarantee

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
)

// cloud is a model of an API server's store for one resource: the truth that tests compare with.
type cloud struct {
	rng     *rand.Rand
	h       *History
	rv      uint64
	uids    int
	objects map[string]Object
	log     []stored
}

// stored is one change: the states before and after; a zero UID means absent.
type stored struct {
	rv            uint64
	key           string
	before, after Object
}

const resource = "configmaps"

func newCloud(h *History, rng *rand.Rand) *cloud {
	return &cloud{rng: rng, h: h, rv: 100, objects: map[string]Object{}}
}

func body(key, uid, team string, rv uint64, data int) string {
	return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":"ns","uid":%q,"resourceVersion":"%d","labels":{"team":%q}},"data":{"n":"%d"}}`,
		key[len("ns/"):], uid, rv, team, data)
}

// inTeamA is the scope of the readers in these tests.
func inTeamA(o Object) bool { return strings.Contains(o.Body, `"team":"a"`) }

// write makes one random change and records its acknowledgement.
func (c *cloud) write() {
	key := fmt.Sprintf("ns/cm-%02d", c.rng.IntN(12))
	c.rv += 1 + c.rng.Uint64N(3)
	before, exists := c.objects[key]
	if exists && c.rng.IntN(4) == 0 {
		c.remove(key, before)
		return
	}
	uid := before.UID
	if !exists {
		c.uids++
		uid = fmt.Sprintf("uid-%d", c.uids)
	}
	team := "a"
	if c.rng.IntN(4) == 0 {
		team = "b"
	}
	after := Object{Key: key, UID: uid, RV: c.rv, Body: body(key, uid, team, c.rv, c.rng.IntN(1000))}
	c.objects[key] = after
	c.log = append(c.log, stored{rv: c.rv, key: key, before: before, after: after})
	c.h.Wrote("cloud", resource, after)
}

// remove deletes; half of the answers don't tell the revision.
func (c *cloud) remove(key string, before Object) {
	delete(c.objects, key)
	c.log = append(c.log, stored{rv: c.rv, key: key, before: before})
	rv := c.rv
	if c.rng.IntN(2) == 0 {
		rv = 0
	}
	c.h.Removed("cloud", resource, key, before.UID, rv)
}

func admits(m Match, o Object) bool { return o.UID != "" && (m == nil || m(o)) }

// event is what a watcher is sent for a change, false when nothing.
func (s stored) event(m Match) (EventType, Object, bool) {
	was, is := admits(m, s.before), admits(m, s.after)
	switch {
	case was && is && s.before.UID == s.after.UID:
		return Modified, s.after, true
	case is:
		return Added, s.after, true
	case was:
		gone := s.before
		gone.RV, gone.Body = s.rv, withRV(gone.Body, s.rv)
		return Deleted, gone, true
	}
	return "", Object{}, false
}

// list is the state a reader with that match gets, in key order.
func (c *cloud) list(m Match) []Object {
	var items []Object
	for _, o := range c.objects {
		if admits(m, o) {
			items = append(items, o)
		}
	}
	sort.Slice(items, func(i, j int) bool { return items[i].Key < items[j].Key })
	return items
}

// stateAt is the list at a past revision.
func (c *cloud) stateAt(rv uint64, m Match) map[string]Object {
	state := map[string]Object{}
	for _, s := range c.log {
		if s.rv > rv {
			break
		}
		delete(state, s.key)
		if admits(m, s.after) {
			state[s.key] = s.after
		}
	}
	return state
}
