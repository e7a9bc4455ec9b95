package guarantee

import (
	"cmp"
	"fmt"
	"slices"
)

// evidence is what writers and sources told about one key, before it is put in order.
type evidence struct {
	states    map[uint64]*version       // by RV
	deletions map[string]*deletion      // by uid
	dated     map[string]map[uint64]int // by uid: which RV how many strict readers saw its DELETED with
	conflict  string                    // a contradiction found on the way, "" when none
}

// deletion is what is known about the end of a uid.
type deletion struct {
	rv             uint64 // 0 = not told
	notAfter       uint64 // a list at this revision lacks it; 0 = not known
	acked, sourced bool
}

func newEvidence() *evidence {
	return &evidence{states: map[uint64]*version{}, deletions: map[string]*deletion{}, dated: map[string]map[uint64]int{}}
}

// state adds a version that a server acknowledged, or, with an empty name, that a source was
// shown. An acknowledgement's bytes go before a source's: the source is then a reader that got
// them wrong.
func (e *evidence) state(o Object, acked string) {
	v := e.states[o.RV]
	if v == nil {
		v = &version{Object: o}
		e.states[o.RV] = v
	} else if acked != "" && v.acked != "" && v.Body != o.Body {
		e.conflict = fmt.Sprintf("two writes were acknowledged at %d with different bytes", o.RV)
	} else if acked != "" {
		v.Object = o
	}
	v.acked = cmp.Or(v.acked, acked)
	v.sourced = v.sourced || acked == ""
}

// deletion adds the end of a uid.
func (e *evidence) deletion(uid string) *deletion {
	d := e.deletions[uid]
	if d == nil {
		d = &deletion{}
		e.deletions[uid] = d
	}
	return d
}

// join orders the versions of the key. head bounds deletions that nobody dated; 0 = unknown.
func (e *evidence) join(head uint64) ([]*version, error) {
	states := make([]*version, 0, len(e.states))
	for _, v := range e.states {
		states = append(states, v)
	}
	slices.SortFunc(states, func(a, b *version) int { return cmp.Compare(a.RV, b.RV) })
	var joined []*version
	for i, v := range states {
		joined = append(joined, v)
		last := i == len(states)-1
		if !last && states[i+1].UID == v.UID {
			continue
		}
		limit := cmp.Or(head, ^uint64(0))
		if !last {
			limit = states[i+1].RV - 1
		}
		d := e.deletions[v.UID]
		if d == nil && last {
			continue
		}
		if d == nil {
			d = &deletion{}
		}
		joined = append(joined, d.version(v, limit, e.witnessed(v, limit)))
	}
	return joined, e.check(states)
}

// check tells why the versions can't all be true.
func (e *evidence) check(states []*version) error {
	if e.conflict != "" {
		return fmt.Errorf("%s", e.conflict)
	}
	ended := map[string]bool{}
	for i, v := range states {
		if i > 0 && states[i-1].UID != v.UID {
			ended[states[i-1].UID] = true
		}
		if ended[v.UID] {
			return fmt.Errorf("uid %s was at %d again after another uid", v.UID, v.RV)
		}
	}
	return nil
}

// witnessed returns the RV with which most strict readers saw the end of the uid whose last
// state is given; 0 when none did. A RV at which the key was in some state is that of a
// selector's transition.
func (e *evidence) witnessed(last *version, limit uint64) uint64 {
	var best uint64
	votes := e.dated[last.UID]
	for rv, n := range votes {
		if rv <= last.RV || rv > limit {
			continue
		}
		if n > votes[best] || n == votes[best] && rv < best {
			best = rv
		}
	}
	return best
}

// version puts the deletion behind the last state of its uid. The RV it was told counts only
// if it is behind that state: some servers answer a DELETE with the object as it was.
func (d *deletion) version(last *version, limit, witnessed uint64) *version {
	gone := &version{Object: Object{Key: last.Key, UID: last.UID}, deleted: true}
	if d.rv > last.RV && d.rv <= limit {
		gone.RV = d.rv
		return gone
	}
	if witnessed > 0 {
		gone.RV = witnessed
		return gone
	}
	if d.notAfter > last.RV {
		limit = min(limit, d.notAfter)
	}
	gone.RV, gone.after = max(limit, last.RV+1), last.RV
	return gone
}
