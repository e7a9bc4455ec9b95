package guarantee

import "fmt"

func (t *tracker) event(o *observation) {
	switch {
	case t.filling:
		if o.typ != Added {
			t.report(verdict{ErrFaithful, "an initial event is not ADDED"}, o.obj.Key, o.obj.RV)
		}
		t.initial = append(t.initial, o.obj)
		return
	case !t.ready:
		return
	}
	t.resume = o.obj.RV
	if t.cfg.Coalesced {
		t.coalescedEvent(o)
		return
	}
	t.strictEvent(o)
}

// strictEvent judges an event of a reader that has to see every change.
func (t *tracker) strictEvent(o *observation) {
	c := t.p.change(o.obj.Key, o.obj.RV)
	d := t.genuine(o, c)
	if d.bad() {
		t.report(d, o.obj.Key, o.obj.RV)
		t.forgiveStandIn(o, c)
		t.deliver(c)
		return
	}
	if d = t.againstHeld(o); !d.bad() {
		d = t.inSequence(c)
	}
	if !d.bad() && o.typ != c.typ {
		d = verdict{ErrFaithful, fmt.Sprintf("the event should be %s", c.typ)}
	}
	if _, silent := t.excused[c]; d.bad() && !silent {
		t.report(d, o.obj.Key, o.obj.RV)
	}
	t.deliver(c)
}

// genuine tells whether such an event exists at all, c being the one at that place.
func (t *tracker) genuine(o *observation, c *change) verdict {
	v := t.p.at(o.obj.Key, o.obj.RV)
	switch {
	case v == nil:
		return verdict{ErrFaithful, "nothing happened to that key at that resourceVersion"}
	case o.typ != Deleted && v.deleted:
		return verdict{ErrFaithful, "the key was deleted at that resourceVersion"}
	case o.typ != Deleted && v.UID != o.obj.UID:
		return verdict{ErrFaithful, fmt.Sprintf("the uid should be %s", v.UID)}
	case c == nil, o.typ != Deleted && !t.p.admits(v):
		return verdict{ErrIsolated, "the object is outside what the reader asked for"}
	case o.typ == Deleted && c.typ != Deleted:
		return verdict{ErrFaithful, "the object was not deleted at that resourceVersion"}
	case c.uid() != o.obj.UID:
		return verdict{ErrFaithful, fmt.Sprintf("the uid should be %s", c.uid())}
	case c.body() != o.obj.Body:
		return verdict{ErrFaithful, fmt.Sprintf("the bytes differ\n  seen %s\n  true %s", o.obj.Body, c.body())}
	}
	return verdict{}
}

// againstHeld compares an event with what the reader was shown of the key before.
func (t *tracker) againstHeld(o *observation) verdict {
	h, ok := t.holds(o.obj.Key)
	rv := o.obj.RV
	switch {
	case !ok || rv > h.rv:
		return verdict{}
	case o.typ == Deleted && h.gone && rv == h.rv:
		return verdict{ErrUnique, "the deletion was shown before"}
	case o.typ == Deleted:
		return verdict{ErrOrdered, fmt.Sprintf("a newer state, at %d, was shown before", h.rv)}
	case h.gone:
		return verdict{ErrDeletesSurvive, fmt.Sprintf("the object was gone at %d and comes back", h.rv)}
	case h.uid != o.obj.UID:
		return verdict{ErrDeletesSurvive, fmt.Sprintf("the object was replaced by uid %s at %d and comes back", h.uid, h.rv)}
	case rv == h.rv:
		return verdict{ErrUnique, "the version was shown before"}
	default:
		return verdict{ErrOrdered, fmt.Sprintf("a newer version, at %d, was shown before", h.rv)}
	}
}

// inSequence tells whether the change comes at its turn.
func (t *tracker) inSequence(c *change) verdict {
	if c.index >= t.next {
		return verdict{}
	}
	if _, late := t.skipped[c]; late {
		return verdict{ErrOrdered, fmt.Sprintf("it comes after an event at %d", t.p.changes[t.next-1].at.RV)}
	}
	return verdict{ErrUnique, "the event was delivered before"}
}

// deliver notes that a change has arrived; those before it are passed over for now.
func (t *tracker) deliver(c *change) {
	if c == nil {
		return
	}
	delete(t.skipped, c)
	if c.index >= t.next {
		for _, passed := range t.p.changes[t.next:c.index] {
			t.skipped[passed] = struct{}{}
		}
		t.next = c.index + 1
	}
	t.high = max(t.high, c.at.RV)
	if h, ok := t.holds(c.at.Key); !ok || h.rv < c.at.RV {
		t.learn(c)
	}
}

// forgiveStandIn excuses the change whose place a faulty event seems to have taken: the next
// one, if it is about the same key or revision. It may still come.
func (t *tracker) forgiveStandIn(o *observation, c *change) {
	if c != nil || t.next >= len(t.p.changes) {
		return
	}
	expected := t.p.changes[t.next]
	if expected.at.Key == o.obj.Key || expected.at.RV == o.obj.RV {
		t.excused[expected] = struct{}{}
	}
}
