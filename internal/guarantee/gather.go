package guarantee

// gatherer collects the evidence about one resource.
type gatherer struct {
	h        *History
	resource string
	found    map[string]*evidence
}

// truthLocked builds the timeline of a resource, and tells which acknowledged writes never happened.
func (h *History) truthLocked(resource string) (*timeline, []Violation) {
	g := &gatherer{h: h, resource: resource, found: map[string]*evidence{}}
	g.writers()
	for _, r := range h.readers {
		switch {
		case r.cfg.Resource != resource:
		case r.cfg.Source:
			g.source(r)
		case !r.cfg.Coalesced:
			g.witness(r)
		}
	}
	fake := g.fakes()
	t, broken := newTimeline(g.found, h.head)
	broken = append(broken, fake...)
	for i := range broken {
		broken[i].Resource = resource
	}
	return t, broken
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
	var v view
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
		if o.kind != event || o.typ != Deleted || e == nil {
			continue
		}
		if e.dated[o.obj.UID] == nil {
			e.dated[o.obj.UID] = map[uint64]int{}
		}
		e.dated[o.obj.UID][o.obj.RV]++
	}
}
