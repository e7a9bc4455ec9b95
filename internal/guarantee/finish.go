package guarantee

import "fmt"

// finish judges the state in which the run left the reader.
func (t *tracker) finish() {
	t.i = t.part.to - 1
	if !t.floors.h.settled || t.part.left() {
		if !t.cfg.Coalesced {
			t.blameSkipped()
		}
		return
	}
	if t.part.era < len(t.floors.h.restores) {
		t.report(verdict{ErrConvergent, "the reader goes on with a history that the cloud has left, and was not told"}, "", t.r.view.position)
		return
	}
	if !t.ready {
		t.report(verdict{ErrConvergent, "the reader never got a state"}, "", 0)
		return
	}
	t.due(t.high)
	t.undelivered()
	t.finalView()
}

// undelivered reports the first of the changes that never came.
func (t *tracker) undelivered() {
	var first *change
	missing := 0
	for _, c := range t.p.changes[t.next:] {
		if t.excuses(c) {
			continue
		}
		if first == nil {
			first = c
		}
		missing++
	}
	if missing > 0 {
		t.report(verdict{ErrConvergent, fmt.Sprintf("%s %s and %d more changes never came", first.typ, first.at.Object, missing-1)}, first.at.Key, first.at.RV)
	}
}

// finalView compares what the client holds in the end with the truth, so that no hole in the
// step by step judgement can hide a difference.
func (t *tracker) finalView() {
	for _, v := range t.out.violations {
		if v.Reader == t.cfg.Name && v.Resource == t.cfg.Resource {
			return // the difference has a name already
		}
	}
	want := map[string]uint64{}
	for key := range t.p.byKey {
		if v, _ := t.p.live(key, ^uint64(0)); v != nil {
			want[key] = v.RV
		}
	}
	if !t.r.view.holds(want) && !t.r.view.partial {
		t.report(verdict{ErrConvergent, "the reader ends with another state: " + difference(t.r.view.objects, want)}, "", t.r.view.position)
	}
}
