package guarantee

import (
	"slices"
	"strings"
)

// watchMutations are faults of a stream that has to show every change.
func watchMutations() []mutation {
	return []mutation{
		{"lost event", ErrGapless, strict, func(s *site) bool {
			return s.state(0) && s.followed() && s.drop()
		}},
		{"lost deletion", ErrDeletesSurvive, strict, func(s *site) bool {
			return s.live(0) && s.at(0).typ == Deleted && s.followed() && s.drop()
		}},
		{"lost last event", ErrConvergent, strict, func(s *site) bool {
			return s.live(0) && s.i == len(s.r.log)-1 && s.drop()
		}},
		{"repeated at once", ErrUnique, strict, func(s *site) bool {
			return s.live(0) && s.insert(*s.at(0))
		}},
		{"repeated after another key", ErrUnique, strict, func(s *site) bool {
			return s.live(0) && s.live(-1) && s.at(0).obj.Key != s.at(-1).obj.Key && s.insert(*s.at(-1))
		}},
		{"swapped keys", ErrOrdered, strict, func(s *site) bool {
			return s.live(0) && s.live(1) && s.at(0).obj.Key != s.at(1).obj.Key && s.followedAt(1) && s.swap()
		}},
		{"stale version after newer", ErrOrdered, strict, func(s *site) bool {
			old := s.versions(s.at(0).obj.Key, s.at(0).rv)
			if !s.state(0) || len(old) == 0 {
				return false
			}
			o := old[len(old)-1]
			return o.UID == s.at(0).obj.UID && inTeamA(o) && s.insert(observation{kind: event, typ: Modified, obj: o, rv: o.RV})
		}},
		{"resurrected", ErrDeletesSurvive, strict, func(s *site) bool {
			old := s.versions(s.at(0).obj.Key, s.at(0).rv)
			if !s.live(0) || s.at(0).typ != Deleted || !inTeamA(old[len(old)-1]) {
				return false
			}
			o := old[len(old)-1]
			return s.insert(observation{kind: event, typ: Added, obj: o, rv: o.RV})
		}},
		{"invented revision", ErrFaithful, strict, func(s *site) bool {
			return s.state(0) && s.at(1).kind != ended && s.rewrite(s.at(0).rv*1000)
		}},
		{"extra event of an invented revision", ErrFaithful, strict, func(s *site) bool {
			o := *s.at(0)
			o.obj.RV = o.rv * 1000
			o.obj.Body = withRV(o.obj.Body, o.obj.RV)
			return s.state(0) && s.at(1).kind != ended && s.insert(o)
		}},
		{"wrong bytes", ErrFaithful, strict, func(s *site) bool {
			if !s.live(0) {
				return false
			}
			s.at(0).obj.Body = strings.Replace(s.at(0).obj.Body, `"data":`, `"date":`, 1)
			return true
		}},
		{"wrong uid", ErrFaithful, strict, func(s *site) bool {
			if !s.live(0) {
				return false
			}
			s.at(0).obj.UID += "x"
			return true
		}},
		{"deletion with the bytes of the new state", ErrFaithful, strict, deletionWithNewBytes},
		{"MODIFIED for ADDED", ErrFaithful, strict, func(s *site) bool {
			if !s.live(0) || s.at(0).typ != Added {
				return false
			}
			s.at(0).typ = Modified
			return true
		}},
		{"DELETED that did not happen", ErrFaithful, strict, func(s *site) bool {
			if !s.state(0) {
				return false
			}
			s.at(0).typ = Deleted
			return true
		}},
	}
}

// viewMutations are faults of scope and positions.
func viewMutations() []mutation {
	return []mutation{
		{"out of scope", ErrIsolated, strict, outOfScope},
		{"leaves the scope as MODIFIED", ErrIsolated, strict, leavesAsModified},
		{"bookmark too early", ErrGapless, strict, func(s *site) bool {
			return s.live(0) && s.state(1) && s.insert(observation{kind: bookmark, rv: s.at(1).rv})
		}},
		{"bookmark too early over a deletion", ErrDeletesSurvive, strict, func(s *site) bool {
			return s.live(0) && s.live(1) && s.at(1).typ == Deleted && s.insert(observation{kind: bookmark, rv: s.at(1).rv})
		}},
		{"bookmark backwards", ErrOrdered, strict, func(s *site) bool {
			return s.live(0) && s.at(1).kind != ended && s.insert(observation{kind: bookmark, rv: s.at(0).rv - 1})
		}},
		{"bookmark beyond the cloud", ErrFaithful, strict, func(s *site) bool {
			return s.live(0) && s.at(1).kind != ended && s.insert(observation{kind: bookmark, rv: s.u.c.rv + 1})
		}},
		{"410 inside the window", ErrResumable, strict, func(s *site) bool {
			ok := s.at(0).kind == expired
			for i := range s.r.log[s.i+1:] {
				ok = ok && s.r.log[s.i+1+i].kind != expired
			}
			s.r.cfg.NeverExpires = ok
			for i := range s.r.log[:s.i] { // earlier ones are no 410
				if ok && s.r.log[i].kind == expired {
					s.r.log[i].kind = failed
				}
			}
			return ok
		}},
		{"never got a state", ErrConvergent, strict, func(s *site) bool {
			s.r.log = nil
			return true
		}},
	}
}

func (s *site) followedAt(d int) bool { return s.live(d+1) || s.at(d+1).kind == bookmark }

func (s *site) swap() bool {
	s.r.log[s.i], s.r.log[s.i+1] = s.r.log[s.i+1], s.r.log[s.i]
	return true
}

// rewrite gives the event another revision.
func (s *site) rewrite(rv uint64) bool {
	o := s.at(0)
	o.rv, o.obj.RV, o.obj.Body = rv, rv, withRV(o.obj.Body, rv)
	return true
}

// deletionWithNewBytes sends, for an object that leaves the scope, its new state in the DELETED.
func deletionWithNewBytes(s *site) bool {
	i := slices.IndexFunc(s.u.c.log, func(c stored) bool { return c.rv == s.at(0).rv })
	if !s.live(0) || s.at(0).typ != Deleted || s.u.c.log[i].after.UID == "" {
		return false
	}
	s.at(0).obj.Body = s.u.c.log[i].after.Body
	return true
}

// outOfScope shows a change of an object that the reader must not see.
func outOfScope(s *site) bool {
	if !s.live(0) || s.at(1).kind == ended {
		return false
	}
	for _, c := range s.u.c.log {
		if c.rv == s.at(0).rv+1 && !admits(inTeamA, c.before) && c.after.UID != "" && !inTeamA(c.after) {
			return s.insert(observation{kind: event, typ: Added, obj: c.after, rv: c.rv})
		}
	}
	return false
}

// leavesAsModified shows the new state of an object that leaves the scope.
func leavesAsModified(s *site) bool {
	i := slices.IndexFunc(s.u.c.log, func(c stored) bool { return c.rv == s.at(0).rv })
	if !s.live(0) || s.at(0).typ != Deleted || s.u.c.log[i].after.UID != s.at(0).obj.UID {
		return false
	}
	s.at(0).typ, s.at(0).obj = Modified, s.u.c.log[i].after
	return true
}
