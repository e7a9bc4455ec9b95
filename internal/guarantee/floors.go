package guarantee

import (
	"cmp"
	"slices"
	"sort"
)

// floors knows which positions of a resource each server had shown, to whomever, and when.
type floors struct {
	h      *History
	head   uint64 // no position beyond it is genuine; 0 = unknown
	byName map[string][]showing
	// held is byName without the answers to GETs: what a server does not hold, the cloud may answer for it.
	held    map[string][]showing
	objects map[string]map[shownVersion]uint64 // by server: when what first showed a version was asked for
}

// showing is a new highest position of a server.
type showing struct {
	rv    uint64
	seq   uint64 // when it was shown
	asked uint64 // when the list or the stream that showed it was asked for
}

func newFloors(h *History, head uint64, truth *timeline, shown []stretch) *floors {
	f := &floors{h: h, head: head, byName: map[string][]showing{}, held: map[string][]showing{}, objects: map[string]map[shownVersion]uint64{}}
	for _, part := range shown {
		f.read(part, truth)
	}
	for _, by := range []map[string][]showing{f.byName, f.held} {
		for name, shown := range by {
			slices.SortFunc(shown, func(a, b showing) int { return cmp.Compare(a.seq, b.seq) })
			by[name] = rising(shown)
		}
	}
	return f
}

// rising keeps the showings that are higher than all before them.
func rising(shown []showing) []showing {
	kept := shown[:0]
	for _, s := range shown {
		if len(kept) == 0 || s.rv > kept[len(kept)-1].rv {
			kept = append(kept, s)
		}
	}
	return kept
}

// read takes the positions a reader was shown in a part of its log. What can't be genuine is left out, so that one
// invented revision doesn't condemn all that follow.
func (f *floors) read(part stretch, truth *timeline) {
	r, initial, opening := part.r, false, uint64(0)
	for i := part.from; i < part.to; i++ {
		o := &r.log[i]
		switch o.kind {
		case opened:
			initial, opening = o.initial, o.began
		case bookmark:
			initial = initial && !o.initial
			f.position(r, showing{o.rv, o.seq, opening})
		case listed:
			f.list(r, o)
		case event:
			f.object(r, o.obj, opening)
			if !initial && truth.at(o.obj.Key, o.obj.RV) != nil {
				f.position(r, showing{o.obj.RV, o.seq, opening})
			}
		case got:
			f.object(r, o.obj, cmp.Or(o.began, o.seq))
			if truth.at(o.obj.Key, o.obj.RV) != nil {
				f.answered(r, showing{o.obj.RV, o.seq, cmp.Or(o.began, o.seq)})
			}
		}
	}
}

func (f *floors) list(r *Reader, o *observation) {
	asked := cmp.Or(o.began, o.seq)
	if !o.exact {
		f.position(r, showing{o.rv, o.seq, asked})
	}
	for _, item := range o.items {
		f.object(r, item, asked)
	}
}

// position notes a position that a server has shown.
func (f *floors) position(r *Reader, s showing) {
	if f.head == 0 || s.rv <= f.head {
		f.byName[r.cfg.Server] = append(f.byName[r.cfg.Server], s)
		f.held[r.cfg.Server] = append(f.held[r.cfg.Server], s)
	}
}

// answered is position for a GET.
func (f *floors) answered(r *Reader, s showing) {
	if f.head == 0 || s.rv <= f.head {
		f.byName[r.cfg.Server] = append(f.byName[r.cfg.Server], s)
	}
}

func (f *floors) object(r *Reader, o Object, asked uint64) {
	shown := f.objects[r.cfg.Server]
	if shown == nil {
		shown = map[shownVersion]uint64{}
		f.objects[r.cfg.Server] = shown
	}
	id := shownVersion{o.Key, o.RV}
	if first, ok := shown[id]; !ok || asked < first {
		shown[id] = asked
	}
}

// before returns the highest position a server had shown before seq, and when it did. With own, only what the server held
// itself counts: for an answer that says it may be behind, and for a list that asks for no newer state than some, as
// kube-apiserver answers a list from its cache behind a GET from etcd.
func (f *floors) before(server string, seq uint64, own bool) showing {
	shown := f.byName[server]
	if own {
		shown = f.held[server]
	}
	i := sort.Search(len(shown), func(i int) bool { return shown[i].seq >= seq })
	if i == 0 {
		return showing{}
	}
	return shown[i-1]
}

// restartedBetween tells whether a server was restarted in that time.
func (f *floors) restartedBetween(server string, from, to uint64) bool {
	for _, m := range f.h.servers[server] {
		if m.kind == restarted && from < m.seq && m.seq < to {
			return true
		}
	}
	return false
}

// lostByRestart tells whether a server had shown a version before a restart that came before seq.
func (f *floors) lostByRestart(server, key string, rv, seq uint64) bool {
	first, ok := f.objects[server][shownVersion{key, rv}]
	return ok && f.restartedBetween(server, first, seq)
}

// offlineDuring tells whether a server knew all the time that it had lost the cloud.
func (f *floors) offlineDuring(server string, from, to uint64) bool {
	off := false
	for _, m := range f.h.servers[server] {
		if m.kind == restarted || m.seq > to {
			continue
		}
		if m.seq > from {
			return false
		}
		off = m.kind == offline
	}
	return off
}
