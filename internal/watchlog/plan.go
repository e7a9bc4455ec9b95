package watchlog

import (
	"cmp"
	"slices"
)

// Op is a change as its source reports it.
type Op struct {
	Key    string
	Rev    uint64  // the position; in a catch-up 0 for a deletion, whose position nobody knows
	Object *Object // the new version; nil when the object was deleted, or left the view
}

// planner turns ops into events.
type planner struct {
	snap   Snapshot
	events []*Event
	at     uint64             // position before the event that is planned next
	over   map[string]*Object // what the events so far make of the objects; nil values are deletions
}

// Plan returns the batch that takes the state over ops, which tell every change behind the snapshot's position up to
// upto, in order. It leaves out what the state has already: positions up to its own, versions that are not newer, and
// deletions of unknown objects. A new UID under a known name becomes Deleted and Added.
//
// Deletions at the snapshot's own position are taken: several objects can be deleted at one revision (Events that expire
// with one etcd lease), and the source may tell them one by one.
func (s Snapshot) Plan(ops []Op, upto uint64) Batch {
	p := planner{snap: s, at: s.Rev()}
	for i := range ops {
		if ops[i].Rev > s.Rev() || ops[i].Rev == s.Rev() && ops[i].Object == nil {
			p.apply(&ops[i], ops[i].Rev)
		}
	}
	return p.batch(upto, Gap{})
}

// PlanCatchup returns the batch that takes the state to upto by ops that tell the newest version of each object that
// changed, and the keys of those that are gone, in any order. What happened in between stays unknown: the batch has a
// Gap. A version that is not newer is taken all the same, at position upto, when its bytes or cells differ: it entered the view,
// or its bytes are healed; an older version of the same object never is.
func (s Snapshot) PlanCatchup(ops []Op, upto uint64) Batch {
	upto = max(upto, s.Rev())
	p := planner{snap: s, at: s.Rev()}
	slices.SortStableFunc(ops, func(a, b Op) int { return cmp.Compare(a.place(s.Rev(), upto), b.place(s.Rev(), upto)) })
	for i := range ops {
		pos, _ := ops[i].position(s.Rev(), upto)
		p.apply(&ops[i], pos)
	}
	return p.batch(upto, Gap{From: s.Rev(), To: upto})
}

// PlanReplace returns the batch that makes objects, the full state at position upto, of the snapshot. An object may have
// changed without a new revision: what a CRD's schema says applies to what is stored already.
func (s Snapshot) PlanReplace(objects []*Object, upto uint64) Batch {
	var ops []Op
	seen := make(map[string]struct{}, len(objects))
	for _, o := range objects {
		seen[o.key] = struct{}{}
		if have := s.Get(o.key); have == nil || have.rev != o.rev || have.uid != o.uid || !have.Same(o) {
			ops = append(ops, Op{Key: o.key, Rev: o.rev, Object: o})
		}
	}
	for o := range s.All("") {
		if _, ok := seen[o.key]; !ok {
			ops = append(ops, Op{Key: o.key})
		}
	}
	return s.PlanCatchup(ops, upto)
}

// position returns where in a catch-up from position from to upto an op takes effect, and whether that is its own rev.
func (o *Op) position(from, upto uint64) (uint64, bool) {
	if o.Object == nil || o.Object.rev <= from || o.Object.rev > upto {
		return upto, false
	}
	return o.Object.rev, true
}

// place orders the ops of a catch-up: by position; at the last position the object whose own rev that is comes last, so
// that a client that has seen it has seen them all.
func (o *Op) place(from, upto uint64) uint64 {
	pos, own := o.position(from, upto)
	if pos == upto && own {
		return upto + 1
	}
	return pos
}

func (p *planner) current(key string) *Object {
	if o, ok := p.over[key]; ok {
		return o
	}
	return p.snap.Get(key)
}

// apply plans the events of one op at position pos.
func (p *planner) apply(op *Op, pos uint64) {
	prev := p.current(op.Key)
	switch {
	case op.Object == nil && prev == nil:
		return
	case op.Object == nil:
		p.add(&Event{Rev: pos, Shown: pos, Type: Deleted, Object: prev, Prev: prev})
	case prev == nil:
		p.add(&Event{Rev: pos, Shown: op.Object.rev, Type: Added, Object: op.Object})
	case prev.uid != op.Object.uid:
		p.add(&Event{Rev: pos, Shown: pos, Type: Deleted, Object: prev, Prev: prev})
		p.add(&Event{Rev: pos, Shown: op.Object.rev, Type: Added, Object: op.Object})
	case prev.rev > op.Object.rev || prev.rev == op.Object.rev && prev.Same(op.Object):
		return
	default:
		p.add(&Event{Rev: pos, Shown: op.Object.rev, Type: Modified, Object: op.Object, Prev: prev})
	}
}

func (p *planner) add(e *Event) {
	e.Late = e.Rev <= p.snap.Rev()
	p.events = append(p.events, e)
	if p.over == nil {
		p.over = map[string]*Object{}
	}
	if e.Type == Deleted {
		p.over[e.Object.key] = nil
	} else {
		p.over[e.Object.key] = e.Object
	}
}

// batch ends the plan. Of the events that share a position, all deletions but one that comes last show the position
// before, from which a client that lost its connection among them is sent them all again.
func (p *planner) batch(upto uint64, gap Gap) Batch {
	before := p.at // the last position that is different from the event's
	for i, e := range p.events {
		if i > 0 && p.events[i-1].Rev < e.Rev {
			before = p.events[i-1].Rev
		}
		if e.Type == Deleted && i+1 < len(p.events) && p.events[i+1].Rev == e.Rev {
			e.Shown = before
		}
	}
	if gap.To <= gap.From {
		gap = Gap{}
	}
	return Batch{Events: p.events, Rev: max(upto, p.snap.Rev()), Gap: gap}
}
