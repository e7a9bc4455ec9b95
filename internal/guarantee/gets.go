package guarantee

import "fmt"

// get judges the answer to a GET: it has to be a state of the key that was current at or
// after the newest position the server had shown before.
func (t *tracker) get(o *observation) {
	began := t.sentAt(o.began)
	floor := t.floors.before(t.cfg.Server, began, o.stale)
	if o.obj.UID == "" {
		t.notFound(o, floor)
		return
	}
	if d := t.found(o, floor); d.bad() {
		if d.is(ErrOrdered) && t.floors.restartedBetween(t.cfg.Server, floor.asked, o.seq) {
			d.err = ErrDurableBeforeVisible
		}
		t.report(d, o.obj.Key, o.obj.RV)
	}
}

func (t *tracker) notFound(o *observation, floor showing) {
	v, maybeGone := t.p.live(o.obj.Key, floor.rv)
	if v == nil || maybeGone != nil || t.p.leaves(o.obj.Key, v.UID, floor.rv) != nil {
		return
	}
	t.report(verdict{t.lostOr(ErrGapless, o, v), fmt.Sprintf("not found, and it was there at %d and ever since", floor.rv)}, o.obj.Key, floor.rv)
}

func (t *tracker) found(o *observation, floor showing) verdict {
	v := t.p.at(o.obj.Key, o.obj.RV)
	switch {
	case v == nil, v.deleted:
		return verdict{ErrFaithful, "nothing was written to that key at that resourceVersion"}
	case v.UID != o.obj.UID:
		return verdict{ErrFaithful, fmt.Sprintf("the uid should be %s", v.UID)}
	case v.Body != o.obj.Body:
		return verdict{ErrFaithful, fmt.Sprintf("the bytes differ\n  seen %s\n  true %s", o.obj.Body, v.Body)}
	case !t.p.admits(v):
		return verdict{ErrIsolated, "the object is outside what the reader asked for"}
	}
	current, _ := t.p.live(o.obj.Key, floor.rv)
	switch {
	case o.obj.RV > floor.rv || current == v:
		return verdict{}
	case current == nil || current.UID != v.UID:
		return verdict{ErrDeletesSurvive, fmt.Sprintf("the object was gone at %d, which was shown before", floor.rv)}
	default:
		return verdict{ErrOrdered, fmt.Sprintf("the object was at %d when %d was shown before", current.RV, floor.rv)}
	}
}
