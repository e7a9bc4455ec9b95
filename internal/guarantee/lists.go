package guarantee

import "fmt"

func (t *tracker) list(o *observation) {
	if o.exact {
		t.contents(o, o.items)
		return
	}
	t.replace(o, o.items, o.began)
	t.filling = false
}

// replace judges a whole state, from a list or from initial events, and makes it the reader's.
func (t *tracker) replace(o *observation, items []Object, began uint64) {
	if t.beyondHead(o.rv) {
		t.report(verdict{ErrFaithful, "the list is beyond every revision of the cloud"}, "", o.rv)
		return
	}
	t.blameSkipped()
	t.notBackwards(o, began)
	t.staleIsSaid(o, began)
	missing := t.contents(o, items)
	t.reset(o.rv)
	for _, c := range missing { // those that are perhaps deleted: the list says so
		t.since[c.at.Key] = held{rv: c.prev.RV, uid: c.prev.UID, gone: true}
		t.excused[c] = struct{}{}
	}
}

// notBackwards compares a list with the positions that its server had shown before.
func (t *tracker) notBackwards(o *observation, began uint64) {
	began = t.sentAt(began)
	floor := t.floors.before(t.cfg.Server, began, o.stale || o.any)
	if o.rv >= floor.rv {
		return
	}
	err := ErrOrdered
	if t.floors.restartedBetween(t.cfg.Server, floor.asked, o.seq) {
		err = ErrDurableBeforeVisible
	}
	t.report(verdict{err, fmt.Sprintf("%s had shown %d before (#%d)", t.cfg.Server, floor.rv, floor.seq)}, "", o.rv)
}

// sentAt tells when the request was sent, at the earliest right after what the reader did before.
func (t *tracker) sentAt(began uint64) uint64 {
	if began == 0 && t.i > 0 {
		return t.r.log[t.i-1].seq + 1
	}
	return began
}

func (t *tracker) staleIsSaid(o *observation, began uint64) {
	if !o.stale && began > 0 && t.floors.offlineDuring(t.cfg.Server, began, o.seq) {
		t.report(verdict{ErrStaleIsSaid, fmt.Sprintf("%s knew that it had lost the cloud, and the answer doesn't say so", t.cfg.Server)}, "", o.rv)
	}
}

// contents judges the items of a list at its revision. It returns the deletions that nobody
// dated and that must have happened because the list lacks their objects.
func (t *tracker) contents(o *observation, items []Object) []*change {
	present := make(map[string]struct{}, len(items))
	last := ""
	for _, item := range items {
		if d := inKeyOrder(last, item.Key); d.bad() {
			t.report(d, item.Key, item.RV)
		}
		last = item.Key
		if d := t.item(o, item); d.bad() {
			t.report(d, item.Key, item.RV)
		}
		present[item.Key] = struct{}{}
	}
	var gone []*change
	for key := range t.p.byKey {
		v, maybeGone := t.p.live(key, o.rv)
		if _, ok := present[key]; ok || v == nil {
			continue
		}
		if maybeGone != nil {
			gone = append(gone, maybeGone)
			continue
		}
		t.report(verdict{t.lostOr(ErrGapless, o, v), fmt.Sprintf("the list lacks %s", v.Object)}, key, v.RV)
	}
	return gone
}

func inKeyOrder(last, key string) verdict {
	switch {
	case last == "" || last < key:
		return verdict{}
	case last == key:
		return verdict{ErrUnique, "the list holds the key twice"}
	default:
		return verdict{ErrFaithful, fmt.Sprintf("the list has it after %s", last)}
	}
}

// item judges one item of a list.
func (t *tracker) item(o *observation, item Object) verdict {
	v := t.p.at(item.Key, item.RV)
	switch {
	case v == nil, v.deleted:
		return verdict{ErrFaithful, "nothing was written to that key at that resourceVersion"}
	case v.UID != item.UID:
		return verdict{ErrFaithful, fmt.Sprintf("the uid should be %s", v.UID)}
	case v.Body != item.Body:
		return verdict{ErrFaithful, fmt.Sprintf("the bytes differ\n  seen %s\n  true %s", item.Body, v.Body)}
	case !t.p.admits(v):
		return verdict{ErrIsolated, "the object is outside what the reader asked for"}
	case item.RV > o.rv:
		return verdict{ErrFaithful, fmt.Sprintf("the item is newer than the list, which is at %d", o.rv)}
	}
	current, _ := t.p.live(item.Key, o.rv)
	switch {
	case current == nil, current.UID != item.UID:
		return verdict{ErrDeletesSurvive, fmt.Sprintf("the object was gone before %d", o.rv)}
	case current != v:
		return verdict{t.lostOr(ErrGapless, o, current), fmt.Sprintf("the list is at %d, where the object was at %d", o.rv, current.RV)}
	}
	return verdict{}
}

// lostOr blames a restart when the server had shown the version before it.
func (t *tracker) lostOr(otherwise error, o *observation, v *version) error {
	if t.floors.lostByRestart(t.cfg.Server, v.Key, v.RV, o.seq) {
		return ErrDurableBeforeVisible
	}
	return otherwise
}
