package guarantee

import "fmt"

// coalescedEvent judges an event of a reader that may be shown the newest version of a key only.
func (t *tracker) coalescedEvent(o *observation) {
	var d verdict
	c := t.p.change(o.obj.Key, o.obj.RV)
	if o.typ == Deleted {
		d = t.coalescedDeletion(o)
	} else {
		d = t.coalescedState(o, c)
	}
	if _, silent := t.excused[c]; d.bad() && (!silent || c == nil) {
		t.report(d, o.obj.Key, o.obj.RV)
	}
	if d.is(ErrFaithful, ErrIsolated) {
		t.excuseLast(o.obj.Key)
	}
	t.take(o, d)
}

// coalescedState judges ADDED and MODIFIED.
func (t *tracker) coalescedState(o *observation, c *change) verdict {
	if d := t.genuine(o, c); d.bad() {
		return d
	}
	h, ok := t.holds(o.obj.Key)
	live := ok && !h.gone
	switch {
	case live && h.uid != o.obj.UID:
		return verdict{ErrDeletesSurvive, fmt.Sprintf("uid %s was shown at %d and never deleted", h.uid, h.rv)}
	case ok && o.obj.RV <= h.rv:
		return t.againstHeld(o)
	case o.obj.RV < t.high:
		return verdict{ErrOrdered, fmt.Sprintf("it comes after %d", t.high)}
	case live && o.typ == Added && t.leftBefore(o, h):
		return verdict{ErrDeletesSurvive, fmt.Sprintf("the object left and came back after %d, without a DELETED", h.rv)}
	case live && o.typ == Added:
		return verdict{ErrFaithful, "the event should be MODIFIED"}
	case !live && o.typ == Modified:
		return verdict{ErrGapless, "MODIFIED of an object that was never ADDED"}
	}
	return verdict{}
}

// leftBefore tells whether the object was out of the reader's sight between what it holds and the event.
func (t *tracker) leftBefore(o *observation, h held) bool {
	c := t.p.leaves(o.obj.Key, h.uid, h.rv)
	return c != nil && c.at.RV < o.obj.RV
}

// coalescedDeletion judges a DELETED, whose resourceVersion is any position that is safe to
// resume from, and whose body is any state of the object since the one shown.
func (t *tracker) coalescedDeletion(o *observation) verdict {
	h, ok := t.holds(o.obj.Key)
	switch {
	case t.beyondHead(o.obj.RV):
		return verdict{ErrFaithful, "the resourceVersion is beyond every revision of the cloud"}
	case !t.p.existed(o.obj.Key, o.obj.UID):
		return verdict{ErrFaithful, "no such object ever existed"}
	case !t.p.everAdmitted(o.obj.Key, o.obj.UID):
		return verdict{ErrIsolated, "the object was never in what the reader asked for"}
	case !ok:
		return verdict{ErrGapless, "DELETED of an object that was never ADDED"}
	case h.gone && h.uid == o.obj.UID:
		return verdict{ErrUnique, "the deletion was shown before"}
	case h.gone && t.p.replaced(o.obj.Key, h.uid, o.obj.UID):
		return verdict{ErrGapless, "DELETED of an object that was never ADDED"}
	case h.gone:
		return verdict{ErrOrdered, "the deletion of an object before the one shown"}
	case h.uid != o.obj.UID && t.p.replaced(o.obj.Key, h.uid, o.obj.UID):
		return verdict{ErrDeletesSurvive, fmt.Sprintf("uid %s was shown and never deleted", h.uid)}
	case h.uid != o.obj.UID, o.obj.RV < t.high:
		return verdict{ErrOrdered, fmt.Sprintf("it comes after %d", t.high)}
	case t.p.leaves(o.obj.Key, h.uid, h.rv) == nil:
		return verdict{ErrFaithful, "the object was not deleted"}
	case !t.p.wasBody(o.obj, h.rv):
		return verdict{ErrFaithful, fmt.Sprintf("the bytes are of no state since %d: %s", h.rv, o.obj.Body)}
	}
	return verdict{}
}

// take makes the reader hold what it was shown, unless the event was of no use.
func (t *tracker) take(o *observation, d verdict) {
	h, ok := t.holds(o.obj.Key)
	if d.is(ErrFaithful) && t.p.at(o.obj.Key, o.obj.RV) == nil && o.typ != Deleted {
		if t.p.existed(o.obj.Key, o.obj.UID) { // it stands for some true version
			t.since[o.obj.Key] = held{rv: h.rv, uid: o.obj.UID}
		}
		return
	}
	rv := o.obj.RV
	if o.typ == Deleted {
		if c := t.p.leaves(o.obj.Key, h.uid, h.rv); c != nil {
			rv = max(rv, c.at.RV)
		}
	}
	if !d.bad() {
		t.high = max(t.high, o.obj.RV)
	}
	if d.is(ErrIsolated, ErrUnique, ErrOrdered) || ok && rv <= h.rv {
		return
	}
	t.since[o.obj.Key] = held{rv: rv, uid: o.obj.UID, gone: o.typ == Deleted}
}

// excuseLast excuses the last change of a key, about which a fault was reported.
func (t *tracker) excuseLast(key string) {
	if changes := t.p.byKey[key]; len(changes) > 0 {
		t.excused[changes[len(changes)-1]] = struct{}{}
	}
}
