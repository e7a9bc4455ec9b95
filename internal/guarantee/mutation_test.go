package guarantee

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// mutation injects one fault into the log of one reader of a correct history.
type mutation struct {
	name   string
	want   error
	reader func(u *run) *Reader
	inject func(m *site) bool // false: the fault doesn't apply there
}

// site is a place in a log at which a fault may be injected.
type site struct {
	u   *run
	r   *Reader
	i   int
	rng *rand.Rand
}

func (s *site) at(d int) *observation {
	if s.i+d < 0 || s.i+d >= len(s.r.log) {
		return &observation{kind: closed}
	}
	return &s.r.log[s.i+d]
}

func (s *site) drop() bool {
	s.r.log = slices.Delete(s.r.log, s.i, s.i+1)
	return true
}

// insert puts an observation behind the site's.
func (s *site) insert(o observation) bool {
	o.seq, o.began = s.at(0).seq, 0
	s.r.log = slices.Insert(s.r.log, s.i+1, o)
	return true
}

// live tells whether the observation is an event outside initial ones.
func (s *site) live(d int) bool {
	if s.at(d).kind != event {
		return false
	}
	for j := s.i + d; j >= 0; j-- {
		switch s.r.log[j].kind {
		case opened:
			return !s.r.log[j].initial
		case bookmark:
			return true
		}
	}
	return false
}

// followed tells whether a live event or a bookmark behind the event comes on the same stream.
func (s *site) followed() bool {
	o := s.at(1)
	return s.live(1) || o.kind == bookmark && o.rv >= s.at(0).rv
}

// state is an ADDED or MODIFIED event outside initial ones.
func (s *site) state(d int) bool { return s.live(d) && s.at(d).typ != Deleted }

// versions returns the true states of a key before the revision, newest last.
func (s *site) versions(key string, before uint64) []Object {
	var found []Object
	for _, c := range s.u.c.log {
		if c.key == key && c.rv < before && c.after.UID != "" {
			found = append(found, c.after)
		}
	}
	return found
}

func strict(u *run) *Reader    { return u.strict }
func coalesced(u *run) *Reader { return u.coalesced }
func lister(u *run) *Reader    { return u.lister }

// TestEachFaultHasItsName injects every kind of fault at many places of many histories, one
// at a time, and demands exactly the one guarantee that it breaks.
func TestEachFaultHasItsName(t *testing.T) {
	for _, m := range slices.Concat(watchMutations(), viewMutations(), coalescedMutations(), listMutations()) {
		t.Run(m.name, func(t *testing.T) {
			applied := 0
			for seed := range uint64(15) {
				if m.try(t, seed) {
					applied++
				}
			}
			if applied < 3 {
				t.Errorf("the fault applied to %d histories only", applied)
			}
		})
	}
}

// try injects the fault at a random place where it applies.
func (m mutation) try(t *testing.T, seed uint64) bool {
	t.Helper()
	u := newRun(seed, true)
	rng := rand.New(rand.NewPCG(seed, 2))
	r := m.reader(u)
	for _, i := range rng.Perm(len(r.log)) {
		s := &site{u: u, r: r, i: i, rng: rng}
		before := fmt.Sprint(s.at(0))
		if !m.inject(s) {
			continue
		}
		violations := u.h.Check()
		if len(violations) == 0 {
			t.Errorf("seed %d: fault at %s goes unnoticed", seed, before)
		}
		for _, v := range violations {
			if !errors.Is(v, m.want) {
				t.Errorf("seed %d: fault at %s is called\n%v", seed, before, v)
			}
		}
		return true
	}
	return false
}
