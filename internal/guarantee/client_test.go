package guarantee

import (
	"sort"
)

// client is a model of a reader with a server that does everything right.
type client struct {
	r      *Reader
	c      *cloud
	match  Match
	steady bool // never has to list again
	seen   int  // c.log[:seen] was delivered
	open   bool
	shown  map[string]Object // coalesced only
}

// step does one random thing that a correct server and client may do.
func (k *client) step() {
	rng := k.c.rng
	if !k.open {
		k.start()
		return
	}
	switch n := rng.IntN(20); {
	case n < 12:
		k.deliver(1 + rng.IntN(4))
	case n < 15:
		k.mark()
	case n < 17 || k.steady:
		k.r.Ended()
		k.r.Opened(k.r.Position(), false)
	case n < 18:
		k.r.Ended()
		k.r.Expired(k.r.Position())
		k.open = false
	case n < 19:
		k.r.Ended()
		k.open = false
	default:
		k.r.Failed("connection refused")
	}
}

// start lists, or opens a watch with initial events.
func (k *client) start() {
	items := k.c.list(k.match)
	if k.c.rng.IntN(2) == 0 {
		began := k.r.Begin()
		k.r.Listed(k.c.rv, items, Answer{Began: began})
		k.r.Opened(k.c.rv, false)
	} else {
		k.r.Opened(0, true)
		for _, o := range items {
			k.r.Event(Added, o)
		}
		k.r.Bookmark(k.c.rv, true)
	}
	k.open, k.seen = true, len(k.c.log)
	k.shown = map[string]Object{}
	for _, o := range items {
		k.shown[o.Key] = o
	}
}

// deliver sends the next n changes, or for a coalesced reader sometimes all of them as one gap.
func (k *client) deliver(n int) {
	if k.r.cfg.Coalesced && k.c.rng.IntN(2) == 0 {
		k.catchUp()
		return
	}
	for ; n > 0 && k.seen < len(k.c.log); n-- {
		s := k.c.log[k.seen]
		k.seen++
		typ, o, ok := s.event(k.match)
		if !ok {
			continue
		}
		k.r.Event(typ, o)
		if typ == Deleted {
			delete(k.shown, o.Key)
		} else {
			k.shown[o.Key] = o
		}
	}
}

// catchUp sends deletions first, at the position before, then the newest version of each key.
func (k *client) catchUp() {
	now := k.c.stateAt(k.c.rv, k.match)
	from := k.r.Position()
	var changed []Object
	for key, was := range k.shown {
		if is, ok := now[key]; !ok || is.UID != was.UID {
			was.RV, was.Body = from, withRV(was.Body, from)
			k.r.Event(Deleted, was)
			delete(k.shown, key)
		}
	}
	for key, is := range now {
		if k.shown[key].RV != is.RV {
			changed = append(changed, is)
		}
	}
	sort.Slice(changed, func(i, j int) bool { return changed[i].RV < changed[j].RV })
	for _, is := range changed {
		typ := Modified
		if _, ok := k.shown[is.Key]; !ok {
			typ = Added
		}
		k.r.Event(typ, is)
		k.shown[is.Key] = is
	}
	k.seen = len(k.c.log)
}

// mark sends a bookmark for what was delivered.
func (k *client) mark() {
	rv := k.c.rv
	if k.seen < len(k.c.log) {
		rv = k.c.log[k.seen].rv - 1
	}
	if rv >= k.r.Position() {
		k.r.Bookmark(rv, false)
	}
}

// settle brings the client to the end.
func (k *client) settle() {
	if !k.open {
		k.start()
	}
	if k.r.cfg.Coalesced {
		k.catchUp()
	}
	k.deliver(len(k.c.log))
}
