package guarantee

import "fmt"

// fakes removes acknowledged writes that a source should have seen go by and didn't, and that
// nobody but the server that acknowledged them has shown, and reports each.
func (g *gatherer) fakes() []Violation {
	var fakes []Violation
	for _, source := range g.h.readers {
		if !source.cfg.Source || source.era != g.era || source.cfg.Resource != g.resource || source.view.objects == nil {
			continue
		}
		seen := g.seenBy()
		watched := watchedSpans(source)
		for key, e := range g.found {
			fakes = append(fakes, g.fakeStates(source, key, e, seen, watched)...)
			fakes = append(fakes, g.fakeDeletions(source, key, e)...)
		}
	}
	return fakes
}

func (g *gatherer) fakeStates(source *Reader, key string, e *evidence, seen map[shownVersion]map[string]struct{}, watched []span) []Violation {
	var fakes []Violation
	for rv, v := range e.states {
		shown := confirmed(v, source.cfg.Server, seen[shownVersion{key, rv}])
		if v.acked == "" || v.sourced || shown || !covers(watched, rv) {
			continue
		}
		delete(e.states, rv)
		fakes = append(fakes, Violation{Err: ErrNoFakeSuccess, Reader: source.cfg.Name, Key: key, RV: rv,
			Detail: fmt.Sprintf("the write was acknowledged, and %s at %d never had it", source.cfg.Server, source.view.position)})
	}
	return fakes
}

func (g *gatherer) fakeDeletions(source *Reader, key string, e *evidence) []Violation {
	var fakes []Violation
	for uid, d := range e.deletions {
		if !g.h.settled || !d.acked || d.sourced || source.view.objects[key].UID != uid {
			continue
		}
		delete(e.deletions, uid)
		fakes = append(fakes, Violation{Err: ErrNoFakeSuccess, Reader: source.cfg.Name, Key: key, RV: source.view.position,
			Detail: fmt.Sprintf("the deletion of uid %s was acknowledged, and it is still there", uid)})
	}
	return fakes
}

// shownVersion is a version that a server has shown.
type shownVersion struct {
	key string
	rv  uint64
}

// seenBy returns by which servers each version was shown to readers.
func (g *gatherer) seenBy() map[shownVersion]map[string]struct{} {
	seen := map[shownVersion]map[string]struct{}{}
	note := func(r *Reader, o Object) {
		id := shownVersion{o.Key, o.RV}
		if seen[id] == nil {
			seen[id] = map[string]struct{}{}
		}
		seen[id][r.cfg.Server] = struct{}{}
	}
	for _, r := range g.h.readers {
		if r.cfg.Resource != g.resource {
			continue
		}
		for i := range r.log {
			note(r, r.log[i].obj)
			for _, item := range r.log[i].items {
				note(r, item)
			}
		}
	}
	return seen
}

// confirmed tells whether a server that has it from the cloud has shown an acknowledged write.
func confirmed(v *version, cloud string, shownBy map[string]struct{}) bool {
	for server := range shownBy {
		if server == cloud || server != v.acked {
			return true
		}
	}
	return false
}

// span is a range of revisions (from, to] that a watch went through without a break.
type span struct{ from, to uint64 }

func covers(spans []span, rv uint64) bool {
	for _, s := range spans {
		if s.from < rv && rv <= s.to {
			return true
		}
	}
	return false
}

// watchedSpans returns what a source has watched: whatever happened there it must have seen.
func watchedSpans(source *Reader) []span {
	var spans []span
	var v view
	for i := range source.log {
		o := &source.log[i]
		foreign := o.kind == opened && !o.initial && o.rv != v.position
		v.apply(o)
		switch {
		case foreign:
			spans = append(spans, span{o.rv, o.rv})
		case o.kind == listed && !o.exact, o.kind == bookmark && o.initial:
			spans = append(spans, span{v.position, v.position})
		case v.initial == nil && len(spans) > 0:
			spans[len(spans)-1].to = max(spans[len(spans)-1].to, v.position)
		}
	}
	return spans
}
