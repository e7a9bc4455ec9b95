package guarantee

// coalescedMutations are faults of a stream that may skip versions.
func coalescedMutations() []mutation {
	return []mutation{
		{"coalesced: lost last version", ErrGapless, coalesced, func(s *site) bool {
			return s.state(0) && s.lastOfKey() && s.high(1) && s.drop()
		}},
		{"coalesced: lost last deletion", ErrDeletesSurvive, coalesced, func(s *site) bool {
			return s.live(0) && s.at(0).typ == Deleted && s.lastOfKey() && s.trulyLast() && s.high(1) && s.drop()
		}},
		{"coalesced: recreated without a deletion", ErrDeletesSurvive, coalesced, func(s *site) bool {
			if !s.live(0) || s.at(0).typ != Deleted || !s.stays(s.i) {
				return false
			}
			for i := s.i + 1; i < len(s.r.log); i++ {
				o := &s.r.log[i]
				if o.kind == event && o.obj.Key == s.at(0).obj.Key {
					return o.obj.UID != s.at(0).obj.UID && s.drop()
				}
				if o.kind != event && o.kind != bookmark {
					return false
				}
			}
			return false
		}},
		{"coalesced: lost addition", ErrGapless, coalesced, func(s *site) bool {
			return s.live(0) && s.at(0).typ == Added && s.at(1).kind == event && s.at(1).typ == Modified && s.at(1).obj.Key == s.at(0).obj.Key && s.drop()
		}},
		{"coalesced: repeated", ErrUnique, coalesced, func(s *site) bool {
			return s.live(0) && s.inStream() && s.insert(*s.at(0))
		}},
		{"coalesced: stale version after newer", ErrOrdered, coalesced, func(s *site) bool {
			old := s.versions(s.at(0).obj.Key, s.at(0).rv)
			if !s.state(0) || len(old) == 0 {
				return false
			}
			o := old[len(old)-1]
			return o.UID == s.at(0).obj.UID && inTeamA(o) && s.inStream() && s.insert(observation{kind: event, typ: Modified, obj: o, rv: o.RV})
		}},
		{"coalesced: resurrected", ErrDeletesSurvive, coalesced, func(s *site) bool {
			old := s.versions(s.at(0).obj.Key, s.at(0).rv+1)
			if !s.live(0) || s.at(0).typ != Deleted || len(old) == 0 || !inTeamA(old[len(old)-1]) || s.at(0).obj.UID != old[len(old)-1].UID {
				return false
			}
			o := old[len(old)-1]
			return s.inStream() && s.insert(observation{kind: event, typ: Added, obj: o, rv: o.RV})
		}},
		{"coalesced: invented revision", ErrFaithful, coalesced, func(s *site) bool {
			return s.state(0) && s.at(1).kind != ended && s.rewrite(s.at(0).rv*1000)
		}},
		{"coalesced: DELETED that did not happen", ErrFaithful, coalesced, func(s *site) bool {
			o := *s.at(0)
			o.typ = Deleted
			final := s.u.c.objects[o.obj.Key]
			return s.state(0) && final.RV == o.obj.RV && s.inStream() && s.insert(o)
		}},
		{"coalesced: out of scope", ErrIsolated, coalesced, outOfScope},
		{"coalesced: bookmark too early", ErrGapless, coalesced, func(s *site) bool {
			s.i++
			ok := s.state(0) && s.lastOfKey() && s.live(-1) && s.trulyLast()
			s.i--
			return ok && s.inStream() && s.insert(observation{kind: bookmark, rv: s.at(1).rv})
		}},
	}
}

// lastOfKey tells whether the reader is shown no more of the site's key, in any way.
func (s *site) lastOfKey() bool {
	for _, o := range s.r.log[s.i+1:] {
		if o.kind == listed || o.kind == opened && o.initial || o.kind == event && o.obj.Key == s.at(0).obj.Key {
			return false
		}
	}
	return true
}

// trulyLast tells whether nothing happens to the site's key in the cloud after the site's event.
func (s *site) trulyLast() bool {
	for _, c := range s.u.c.log {
		if c.key == s.at(0).obj.Key && c.rv > s.at(0).rv && c.after.UID != "" {
			return false
		}
	}
	return true
}

// high tells whether the observation there claims the site's change to be delivered.
func (s *site) high(d int) bool {
	o := s.at(d)
	last := uint64(0)
	for _, c := range s.u.c.log {
		if c.key == s.at(0).obj.Key {
			last = c.rv
		}
	}
	return (o.kind == bookmark || s.live(d)) && o.rv >= last
}

// inStream tells whether the stream goes on behind the site.
func (s *site) inStream() bool { return s.at(1).kind == event || s.at(1).kind == bookmark }

// stays tells whether the stream goes on behind the observation.
func (s *site) stays(i int) bool { return i+1 < len(s.r.log) && s.r.log[i+1].kind == event }
