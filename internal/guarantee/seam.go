package guarantee

import (
	"maps"
	"slices"
)

// seam is how a reader, without being told, was carried over from a history that a restore ended to the one that the
// cloud went on with, in such a way that nobody can tell: from its position, all that differs came behind that position.
// That may have happened to it at several restores.
type seam struct {
	steps []seamStep // in the order of the log; at least one
	truth *timeline
}

// seamStep is a place at which a reader goes on with another history.
type seamStep struct {
	at       int    // in the log: the first thing of the later history
	from     int    // the history before
	position uint64 // of the reader before that
}

// seamSearch looks for the places in a stretch at which a reader may have been carried over.
type seamSearch struct {
	j   *judge
	s   stretch
	era int // of the end
}

// findSeam looks for a way in which a reader may have been carried over, within a stretch, into the history era; nil when
// there is none. What is shown from a place on is held against the old history up to the reader's position there, and the
// new one behind it.
func (j *judge) findSeam(s stretch, era int) *seam {
	if s.r.cfg.Source || !s.r.cfg.Coalesced {
		return nil
	}
	for first := era - 1; first >= 0; first-- {
		search := &seamSearch{j: j, s: s, era: era}
		sm := &seam{truth: j.truths[first]}
		if found := search.from(sm, j.found[first], first, s.from, view{}); found != nil {
			return found
		}
	}
	return nil
}

// from goes on at a place in the log, where the reader holds v and goes by the history cur, of which found is the evidence.
func (q *seamSearch) from(sm *seam, found map[string]*evidence, cur, at int, v view) *seam {
	for i := at; i < q.s.to && cur < q.era; i++ {
		o := &q.s.r.log[i]
		after := o.seq > q.j.h.restores[cur].seq && v.objects != nil && v.initial == nil
		if after && o.kind == event && sm.truth.at(o.obj.Key, o.obj.RV) == nil {
			return q.step(sm, found, cur, i, v)
		}
		v.apply(o)
	}
	if cur < q.era || len(sm.steps) == 0 {
		return nil
	}
	s := q.s
	s.seam, s.era, s.moves = sm, q.era, true
	var out report
	newTracker(s, newProjection(sm.truth, s.r.cfg.Match), q.j.forecast[q.era], &out).run()
	if len(out.violations) > 0 {
		return nil
	}
	return sm
}

// step has the reader go on with a later history at a place in the log: the last one that leads to the end. That may be one
// that had not begun yet, when nothing that the reader is shown up to there was lost with what is between.
func (q *seamSearch) step(sm *seam, found map[string]*evidence, cur, at int, v view) *seam {
	for next := q.era; next > cur; next-- {
		sewn := q.j.sewn(found, next, v.position)
		longer := &seam{steps: append(slices.Clip(sm.steps), seamStep{at: at, from: cur, position: v.position})}
		longer.truth, _ = newTimeline(sewn, q.j.h.headLocked(next))
		held := v
		held.objects = maps.Clone(v.objects)
		held.apply(&q.s.r.log[at])
		if whole := q.from(longer, sewn, next, at+1, held); whole != nil {
			return whole
		}
	}
	return nil
}

// sewn is the history old up to a position, and the one of an era from there.
func (j *judge) sewn(old map[string]*evidence, era int, position uint64) map[string]*evidence {
	fresh := j.found[era]
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
	return found
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
