package guarantee

// seam is where a reader, without being told, was carried over from a history that a restore ended to the one that the
// cloud went on with, in such a way that nobody can tell: from its position, all that differs came behind that position.
type seam struct {
	at       int    // in the log: the first thing of the later history
	position uint64 // of the reader before that
	truth    *timeline
}

// findSeam looks for the place in a stretch at which a reader may have been carried over into the history era; nil when
// there is none. What is shown from there on is held against the old history up to the reader's position, and the new
// one behind it.
func (j *judge) findSeam(s stretch, era int) *seam {
	if s.r.cfg.Source || !s.r.cfg.Coalesced || era == 0 {
		return nil
	}
	var v view
	for i := s.from; i < s.to; i++ {
		o := &s.r.log[i]
		after := o.seq > j.h.restores[era-1].seq && v.objects != nil && v.initial == nil
		if after && o.kind == event && j.truths[era-1].at(o.obj.Key, o.obj.RV) == nil {
			found := &seam{at: i, position: v.position, truth: j.sewn(era, v.position)}
			s.seam, s.era, s.moves = found, era, true
			var out report
			newTracker(s, newProjection(found.truth, s.r.cfg.Match), j.forecast[era], &out).run()
			if len(out.violations) > 0 {
				return nil
			}
			return found
		}
		v.apply(o)
	}
	return nil
}

// sewn is the history before a restore up to a position, and the one after it from there.
func (j *judge) sewn(era int, position uint64) *timeline {
	old, fresh := j.found[era-1], j.found[era]
	found := map[string]*evidence{}
	of := func(key string) *evidence {
		if found[key] == nil {
			found[key] = newEvidence()
		}
		return found[key]
	}
	for key, e := range old {
		for rv, v := range e.states {
			if rv <= position {
				of(key).states[rv] = v
			}
		}
		for uid, d := range e.deletions {
			if d.rv > 0 && d.rv <= position {
				of(key).deletions[uid] = d
			}
		}
	}
	for key, e := range fresh {
		for rv, v := range e.states {
			if rv > position {
				of(key).states[rv] = v
			}
		}
		for uid, d := range e.deletions {
			if d.rv > position {
				of(key).deletions[uid] = d
			}
		}
	}
	for key, e := range fresh {
		if v := e.alive(); v != nil && v.RV <= position && of(key).states[v.RV] == nil {
			of(key).states[v.RV] = v // behind the backup, and passed over: nothing would ever bring it
		}
	}
	j.endLost(found, fresh)
	t, _ := newTimeline(found, j.h.headLocked(era))
	return t
}

// endLost says of what is there in the old history, and not at all or no more in the new one, that it is gone at some time.
func (j *judge) endLost(found, fresh map[string]*evidence) {
	for key, e := range found {
		for _, v := range e.states {
			stays := false
			if f := fresh[key]; f != nil {
				last := f.alive()
				stays = last != nil && last.UID == v.UID
			}
			if e.deletions[v.UID] == nil && !stays {
				e.deletions[v.UID] = &deletion{}
			}
		}
	}
}

// alive is the version that a key has in the end, nil when it is gone.
func (e *evidence) alive() *version {
	var newest *version
	for _, v := range e.states {
		if newest == nil || v.RV > newest.RV {
			newest = v
		}
	}
	if newest == nil || e.deletions[newest.UID] != nil {
		return nil
	}
	return newest
}

// Untold returns the readers that were carried over a restore without being told, in a way that nobody can tell. Call it
// after [History.Check].
func (h *History) Untold() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.untold
}
