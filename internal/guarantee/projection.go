package guarantee

import (
	"cmp"
	"slices"
	"sort"
)

// change is an event that a reader has to see: the truth through the reader's match.
type change struct {
	at    *version // what happened
	typ   EventType
	prev  *version // what the reader held before; nil for ADDED
	last  bool     // the last change of its key
	index int      // in projection.changes
}

// body is what the event carries.
func (c *change) body() string {
	if c.typ == Deleted {
		return withRV(c.prev.Body, c.at.RV)
	}
	return c.at.Body
}

// uid is that of the object in the event.
func (c *change) uid() string {
	if c.typ == Deleted {
		return c.prev.UID
	}
	return c.at.UID
}

// projection is a timeline as one reader has to see it.
type projection struct {
	*timeline
	match   Match
	changes []*change            // by RV
	byKey   map[string][]*change // by key, by RV
}

func newProjection(t *timeline, m Match) *projection {
	p := &projection{timeline: t, match: m, byKey: map[string][]*change{}}
	for key, versions := range t.keys {
		p.byKey[key] = p.project(versions)
		p.changes = append(p.changes, p.byKey[key]...)
	}
	slices.SortFunc(p.changes, func(a, b *change) int {
		return cmp.Or(cmp.Compare(a.at.RV, b.at.RV), cmp.Compare(a.at.Key, b.at.Key))
	})
	for i, c := range p.changes {
		c.index = i
	}
	return p
}

// project turns the versions of one key into the events they cause.
func (p *projection) project(versions []*version) []*change {
	var changes []*change
	var held *version // what the reader holds
	for _, v := range versions {
		in := p.admits(v)
		switch {
		case in && held == nil:
			changes = append(changes, &change{at: v, typ: Added})
		case in:
			changes = append(changes, &change{at: v, typ: Modified, prev: held})
		case held != nil:
			changes = append(changes, &change{at: v, typ: Deleted, prev: held})
		}
		held = nil
		if in {
			held = v
		}
	}
	if len(changes) > 0 {
		changes[len(changes)-1].last = true
	}
	return changes
}

// admits tells whether the reader holds the key in that version.
func (p *projection) admits(v *version) bool {
	return !v.deleted && (p.match == nil || p.match(v.Object))
}

// change returns the event of a key at exactly rv, nil when there is none.
func (p *projection) change(key string, rv uint64) *change {
	if c := p.latest(key, rv); c != nil && c.at.RV == rv {
		return c
	}
	return nil
}

// latest returns the last event of a key up to rv, nil when there is none.
func (p *projection) latest(key string, rv uint64) *change {
	changes := p.byKey[key]
	i := sort.Search(len(changes), func(i int) bool { return changes[i].at.RV > rv })
	if i == 0 {
		return nil
	}
	return changes[i-1]
}

// live returns what the reader holds of a key at rv, nil when nothing. maybeGone is the
// deletion of it that nobody dated exactly and that may have happened by then; nil when none.
func (p *projection) live(key string, rv uint64) (v *version, maybeGone *change) {
	c := p.latest(key, rv)
	if c == nil || c.typ == Deleted {
		return nil, nil
	}
	changes := p.byKey[key]
	i := sort.Search(len(changes), func(i int) bool { return changes[i].at.RV > rv })
	if i < len(changes) && !changes[i].at.certain() && changes[i].at.after <= rv {
		maybeGone = changes[i]
	}
	return c.at, maybeGone
}

// after returns the index of the first change behind rv.
func (p *projection) after(rv uint64) int {
	return sort.Search(len(p.changes), func(i int) bool { return p.changes[i].at.RV > rv })
}

// leaves returns the first change after rv by which the uid disappears from the reader, nil when none.
func (p *projection) leaves(key, uid string, rv uint64) *change {
	for _, c := range p.byKey[key] {
		if c.at.RV > rv && c.typ == Deleted && c.prev.UID == uid {
			return c
		}
	}
	return nil
}

// existed tells whether the key ever had that uid.
func (p *projection) existed(key, uid string) bool {
	for _, v := range p.keys[key] {
		if v.UID == uid {
			return true
		}
	}
	return false
}

// everAdmitted tells whether the reader ever had to hold that uid.
func (p *projection) everAdmitted(key, uid string) bool {
	for _, c := range p.byKey[key] {
		if c.uid() == uid {
			return true
		}
	}
	return false
}

// replaced tells whether the older uid came before the newer one.
func (p *projection) replaced(key, older, newer string) bool {
	seen := false
	for _, v := range p.keys[key] {
		if v.UID == newer {
			return seen
		}
		seen = seen || v.UID == older
	}
	return false
}

// wasBody tells whether the object of a DELETED is a state of its uid that the reader may have
// held at rv or later, under another resourceVersion.
func (p *projection) wasBody(o Object, rv uint64) bool {
	for _, v := range p.keys[o.Key] {
		if v.UID == o.UID && v.RV >= rv && p.admits(v) && withRV(v.Body, o.RV) == o.Body {
			return true
		}
	}
	return false
}
