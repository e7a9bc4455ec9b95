package guarantee

import "fmt"

// judge holds what readers of a resource were shown against the histories of the cloud.
type judge struct {
	h        *History
	truths   []*timeline            // by era
	found    []map[string]*evidence // by era: what the truths are made of
	floors   []*floors              // by era
	forecast []*floors              // by era: of what was shown when no later history was there
}

// judgeLocked judges all readers of a resource.
func (h *History) judgeLocked(resource string, out *report) {
	j := &judge{h: h}
	var before *gatherer
	for era := range len(h.restores) + 1 {
		g, truth, broken := h.truthLocked(resource, era, before)
		before, j.truths, j.found = g, append(j.truths, truth), append(j.found, g.found)
		out.violations = append(out.violations, broken...)
	}
	readers := h.readersLocked(resource)
	parts := j.assign(readers)
	shown := make([][]stretch, len(j.truths))
	for _, of := range parts {
		for _, s := range of {
			if s.seam == nil {
				shown[s.era] = append(shown[s.era], s)
				continue
			}
			rest := s
			for _, step := range s.seam.steps {
				old := rest
				old.to, rest.from = step.at, step.at
				shown[step.from] = append(shown[step.from], old)
				h.untold = append(h.untold, fmt.Sprintf("%s of %s at %d: %s", s.r.cfg.Name, resource, step.position, &s.r.log[step.at]))
			}
			shown[s.era] = append(shown[s.era], rest)
		}
	}
	j.floors = j.newFloors(shown)
	for i, r := range readers {
		for _, s := range parts[i] {
			truth := j.truths[s.era]
			if s.seam != nil {
				truth = s.seam.truth
			}
			newTracker(s, newProjection(truth, r.cfg.Match), j.floors[s.era], out).run()
		}
	}
}

func (h *History) readersLocked(resource string) []*Reader {
	var found []*Reader
	for _, r := range h.readers {
		if r.cfg.Resource == resource {
			found = append(found, r)
		}
	}
	return found
}

func (j *judge) newFloors(shown [][]stretch) []*floors {
	all := make([]*floors, len(j.truths))
	for era, truth := range j.truths {
		all[era] = newFloors(j.h, j.h.headLocked(era), truth, shown[era])
	}
	return all
}

// assign divides the logs of the readers among the histories.
func (j *judge) assign(readers []*Reader) [][]stretch {
	parts := make([][]stretch, len(readers))
	for i, r := range readers {
		parts[i] = r.stretches()
	}
	if len(j.truths) > 1 {
		j.foresee(parts)
		for i, r := range readers {
			j.divide(r, parts[i])
		}
	}
	for i := range parts {
		parts[i] = joined(parts[i])
	}
	return parts
}

// foresee finds the floors of what can only be of one history, because the next had not begun.
func (j *judge) foresee(parts [][]stretch) {
	certain := make([][]stretch, len(j.truths))
	for _, of := range parts {
		for _, s := range of {
			if era := j.h.eraLocked(s.end()); era == 0 {
				certain[era] = append(certain[era], s)
			}
		}
	}
	j.forecast = j.newFloors(certain)
}

// never is the cost of what can't be.
const never = 1 << 30

// path is the cheapest way to give histories to the parts of a log up to one that has a certain history.
type path struct {
	cost int   // faults
	from int   // the history of the part before
	seam *seam // nil unless the part was carried over into this history
}

// divide gives each part of a reader's log the history by which it makes most sense. It goes back to an older one only when
// the reader was told that its position is gone: an edge may meet a hub that has not noticed the restore yet.
func (j *judge) divide(r *Reader, parts []stretch) {
	if r.cfg.Source {
		for i := range parts {
			parts[i].era = r.era
		}
		return
	}
	projections := make([]*projection, len(j.truths))
	for era, truth := range j.truths {
		projections[era] = newProjection(truth, r.cfg.Match)
	}
	paths := make([][]path, len(parts))
	before := make([]path, len(j.truths))
	for i, part := range parts {
		paths[i] = make([]path, len(j.truths))
		for era := range j.truths {
			paths[i][era] = j.step(part, era, before, projections[era])
		}
		before = paths[i]
	}
	era := cheapest(before)
	for i := len(parts) - 1; i >= 0; i-- {
		parts[i].era, parts[i].seam = era, paths[i][era].seam
		era = paths[i][era].from
	}
}

// step continues the paths so far with a part that has the history era.
func (j *judge) step(part stretch, era int, before []path, p *projection) path {
	from := cheapest(before[:era+1])
	if part.told() {
		from = cheapest(before)
	}
	if before[era].cost == before[from].cost {
		from = era
	}
	if era > j.h.eraLocked(part.end()) {
		return path{cost: never, from: from}
	}
	next := path{cost: j.faults(part, era, p), from: from}
	if next.cost > 0 {
		if next.seam = j.findSeam(part, era); next.seam != nil {
			next.cost, next.from = 0, cheapest(before[:next.seam.steps[0].from+1])
		}
	}
	next.cost += before[next.from].cost
	return next
}

// cheapest returns the history of the path that costs least, the oldest of them.
func cheapest(paths []path) int {
	best := 0
	for era, p := range paths {
		if p.cost < paths[best].cost {
			best = era
		}
	}
	return best
}

// faults counts what would be wrong with a part of a log in that history.
func (j *judge) faults(s stretch, era int, p *projection) int {
	s.era, s.moves = era, true // no 410 is counted
	out := report{all: true}
	newTracker(s, p, j.forecast[era], &out).run()
	return len(out.violations)
}
