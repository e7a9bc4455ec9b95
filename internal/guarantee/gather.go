package guarantee

// gatherer collects the evidence about one resource.
type gatherer struct {
	h        *History
	resource string
	era      int // how many restores were before
	found    map[string]*evidence
	shared   map[string]Object // the newest of each key that the history has in common with the one before
}

// truthLocked builds the timeline of a resource in one of its histories, and tells which acknowledged writes never happened.
func (h *History) truthLocked(resource string, era int, before *gatherer) (*gatherer, *timeline, []Violation) {
	g := &gatherer{h: h, resource: resource, era: era, found: map[string]*evidence{}, shared: map[string]Object{}}
	g.inherit(before)
	g.writers()
	for _, r := range h.readers {
		switch {
		case r.cfg.Resource != resource:
		case r.cfg.Source && r.era == era:
			g.source(r)
		case !r.cfg.Source && !r.cfg.Coalesced:
			g.witness(r)
		}
	}
	fake := g.fakes()
	t, broken := newTimeline(g.found, h.headLocked(era))
	broken = append(broken, fake...)
	for i := range broken {
		broken[i].Resource = resource
	}
	return g, t, broken
}

// inherit takes what the history has of the one before: all up to the backup.
func (g *gatherer) inherit(before *gatherer) {
	if before == nil {
		return
	}
	until := g.h.restores[g.era-1].backup
	for key, old := range before.found {
		for rv, v := range old.states {
			if rv <= until {
				copied := *v
				g.key(key).states[rv] = &copied
				if o, ok := g.shared[key]; !ok || o.RV < rv {
					g.shared[key] = v.Object
				}
			}
		}
	}
	for key, old := range before.found {
		for uid, d := range old.deletions {
			if d.rv > 0 && d.rv <= until || d.rv == 0 && d.notAfter > 0 && d.notAfter <= until {
				copied := *d
				g.key(key).deletions[uid] = &copied
			}
		}
	}
}

func (g *gatherer) key(key string) *evidence {
	e := g.found[key]
	if e == nil {
		e = newEvidence()
		g.found[key] = e
	}
	return e
}

func (g *gatherer) writers() {
	for _, w := range g.h.writes[g.resource] {
		if g.h.eraLocked(w.seq) != g.era {
			continue
		}
		e := g.key(w.obj.Key)
		if !w.deleted {
			e.state(w.obj, w.server)
			continue
		}
		d := e.deletion(w.obj.UID)
		d.acked, d.rv = true, max(d.rv, w.obj.RV)
	}
}

// source replays a reader of the cloud: all it saw is true, and what a list lacks is gone.
func (g *gatherer) source(r *Reader) {
	v := view{objects: g.shared}
	for i := range r.log {
		o := &r.log[i]
		before := v.objects
		v.apply(o)
		switch {
		case o.kind == listed && !o.exact:
			g.listed(before, o.items, o.rv)
		case o.kind == bookmark && o.initial:
			g.listed(before, v.list(), o.rv)
		case o.kind == event && o.typ == Deleted:
			d := g.key(o.obj.Key).deletion(o.obj.UID)
			d.sourced, d.rv = true, max(d.rv, o.obj.RV)
		case o.kind == event:
			g.key(o.obj.Key).state(o.obj, "")
		}
	}
}

func (g *gatherer) listed(before map[string]Object, items []Object, rv uint64) {
	now := make(map[string]struct{}, len(items))
	for _, o := range items {
		g.key(o.Key).state(o, "")
		now[o.UID] = struct{}{}
	}
	for key, o := range before {
		if _, ok := now[o.UID]; !ok {
			d := g.key(key).deletion(o.UID)
			d.sourced, d.notAfter = true, rv
		}
	}
}

// witness takes the RVs of deletions that nobody else dated from a strict reader.
func (g *gatherer) witness(r *Reader) {
	for i := range r.log {
		o := &r.log[i]
		e := g.found[o.obj.Key]
		if o.kind != event || o.typ != Deleted || e == nil || g.h.eraLocked(o.seq) != g.era {
			continue
		}
		if e.dated[o.obj.UID] == nil {
			e.dated[o.obj.UID] = map[uint64]int{}
		}
		e.dated[o.obj.UID][o.obj.RV]++
	}
}
