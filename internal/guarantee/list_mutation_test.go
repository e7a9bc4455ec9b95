package guarantee

import (
	"slices"
	"strings"
)

// listMutations are faults of lists and gets.
func listMutations() []mutation {
	return []mutation{
		{"list lacks an object", ErrGapless, lister, func(s *site) bool {
			return s.inList(func(items []Object, n int) []Object { return slices.Delete(items, n, n+1) })
		}},
		{"list holds a key twice", ErrUnique, lister, func(s *site) bool {
			return s.inList(func(items []Object, n int) []Object { return slices.Insert(items, n, items[n]) })
		}},
		{"list out of key order", ErrFaithful, lister, func(s *site) bool {
			return len(s.at(0).items) > 1 && s.inList(func(items []Object, _ int) []Object {
				items[0], items[1] = items[1], items[0]
				return items
			})
		}},
		{"list has a stale object", ErrGapless, lister, func(s *site) bool {
			return s.inList(func(items []Object, n int) []Object {
				old := s.versions(items[n].Key, items[n].RV)
				if len(old) == 0 || !inTeamA(old[len(old)-1]) || old[len(old)-1].UID != items[n].UID {
					return nil
				}
				items[n] = old[len(old)-1]
				return items
			})
		}},
		{"list has a deleted object", ErrDeletesSurvive, lister, ghost},
		{"list has wrong bytes", ErrFaithful, lister, func(s *site) bool {
			return s.inList(func(items []Object, n int) []Object {
				items[n].Body = strings.Replace(items[n].Body, `"data":`, `"date":`, 1)
				return items
			})
		}},
		{"list has an object out of scope", ErrIsolated, lister, func(s *site) bool {
			state := s.u.c.stateAt(s.at(0).rv, nil)
			return s.inList(func(items []Object, _ int) []Object {
				for _, o := range state {
					if !inTeamA(o) {
						return sorted(append(items, o))
					}
				}
				return nil
			})
		}},
		{"list older than what the server showed", ErrOrdered, lister, func(s *site) bool { return s.backwards(false) }},
		{"list older than before the restart", ErrDurableBeforeVisible, lister, func(s *site) bool { return s.backwards(true) }},
		{"list beyond the cloud", ErrFaithful, lister, func(s *site) bool {
			if s.at(0).kind != listed || s.at(0).exact || s.last() {
				return false
			}
			s.at(0).rv += s.u.c.rv
			return true
		}},
		{"get of something else", ErrFaithful, lister, func(s *site) bool {
			if s.at(0).kind != got || s.at(0).obj.UID == "" {
				return false
			}
			s.at(0).obj.Body += " "
			return true
		}},
		{"get finds nothing", ErrGapless, lister, func(s *site) bool {
			o := s.at(0)
			if o.kind != got || o.obj.UID == "" || len(s.versions(o.obj.Key, ^uint64(0))) == 0 {
				return false
			}
			all := s.versions(o.obj.Key, ^uint64(0))
			stays := all[len(all)-1].RV == o.obj.RV && s.u.c.objects[o.obj.Key].UID == o.obj.UID && inTeamA(s.u.c.objects[o.obj.Key])
			if !stays || s.floor() < o.obj.RV || s.restarted() {
				return false
			}
			o.obj = Object{Key: o.obj.Key}
			return true
		}},
		{"get goes backwards", ErrOrdered, lister, func(s *site) bool {
			o := s.at(0)
			old := s.versions(o.obj.Key, o.obj.RV)
			if o.kind != got || len(old) == 0 || old[len(old)-1].UID != o.obj.UID || !inTeamA(old[len(old)-1]) || s.floor() < o.obj.RV || s.restarted() {
				return false
			}
			o.obj = old[len(old)-1]
			return true
		}},
	}
}

// inList changes the items of a present list in place; nil from change says that it doesn't apply.
func (s *site) inList(change func(items []Object, n int) []Object) bool {
	o := s.at(0)
	if o.kind != listed || o.exact || len(o.items) == 0 || s.restarted() {
		return false
	}
	items := change(slices.Clone(o.items), s.rng.IntN(len(o.items)))
	if items == nil {
		return false
	}
	o.items = items
	return true
}

// ghost puts an object into a list that was deleted before.
func ghost(s *site) bool {
	state := s.u.c.stateAt(s.at(0).rv, nil)
	return s.inList(func(items []Object, _ int) []Object {
		for _, c := range s.u.c.log {
			if _, ok := state[c.key]; !ok && c.rv <= s.at(0).rv && admits(inTeamA, c.before) && c.after.UID == "" {
				return sorted(append(items, c.before))
			}
		}
		return nil
	})
}

func sorted(items []Object) []Object {
	slices.SortFunc(items, func(a, b Object) int { return strings.Compare(a.Key, b.Key) })
	return items
}

// backwards answers a list with the true state at a revision before the one shown last.
func (s *site) backwards(restart bool) bool {
	o := s.at(0)
	floor := s.u.h.floor(s.r, o.began)
	if o.kind != listed || o.exact || s.last() || floor.rv <= s.u.c.log[0].rv || s.u.h.restartBetween(s.r, floor.asked, o.seq) != restart {
		return false
	}
	o.rv = floor.rv - 1
	v := view{objects: s.u.c.stateAt(o.rv, inTeamA)}
	o.items = v.list()
	return true
}

// last tells whether the reader lists no more: then its state isn't the final one either.
func (s *site) last() bool {
	return !slices.ContainsFunc(s.r.log[s.i+1:], func(o observation) bool { return o.kind == listed && !o.exact })
}

func (s *site) floor() uint64 { return s.u.h.floor(s.r, s.at(0).began).rv }

// restarted tells whether the server was restarted at any time before the site.
func (s *site) restarted() bool { return s.u.h.restartBetween(s.r, 0, s.at(0).seq) }

func (h *History) floor(r *Reader, seq uint64) showing {
	_, truth, _ := h.truthLocked(resource, 0, nil)
	var whole []stretch
	for _, r := range h.readers {
		whole = append(whole, stretch{r: r, to: len(r.log)})
	}
	return newFloors(h, h.head, truth, whole).before(r.cfg.Server, seq, false)
}

func (h *History) restartBetween(r *Reader, from, to uint64) bool {
	return (&floors{h: h}).restartedBetween(r.cfg.Server, from, to)
}
