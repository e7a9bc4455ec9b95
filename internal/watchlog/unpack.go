package watchlog

import (
	"fmt"
	"sync"

	"github.com/tombolo-sync/tombolo/internal/patch"
)

// unpacking is a set of versions that are to be made whole. It is planned with the log's lock held and done without: what
// it takes from the log does not change.
type unpacking struct {
	items  []unpackItem
	steps  []version
	index  map[place]int // the items by what they are
	events []unpackEvent
}

// place is where a packed version is.
type place struct {
	chain  *chain
	number uint32
}

// unpackItem is one version.
type unpackItem struct {
	place
	base     *Object // what the first patch is applied to, if after is -1
	after    int     // the item that is it otherwise
	from, to int     // in steps: the patches, the one that comes first last
	newest   uint32  // the newest packed version that it depends on
	object   *Object // the version, once made
}

// unpackEvent is an event that nobody has seen yet, and the items that are its versions; -1 when it has none.
type unpackEvent struct {
	event        *Event
	number       uint64
	object, prev int
}

func newUnpacking() *unpacking { return &unpacking{index: map[place]int{}} }

// add plans the version of c with the number, which may be head's, and returns its item. Log.mu is held.
func (u *unpacking) add(c *chain, number uint32, pattern *Object) int {
	at := place{c, number}
	if i, ok := u.index[at]; ok {
		return i
	}
	it := unpackItem{place: at, after: -1, from: len(u.steps), newest: number}
	for n := number; ; {
		if i, ok := u.index[place{c, n}]; ok {
			it.after = i
			break
		}
		if n >= c.end() {
			it.base = c.head
			break
		}
		v := *c.at(n)
		it.newest = n
		if v.data == nil {
			it.base = v.like
			break
		}
		u.steps = append(u.steps, v)
		h, _, _, err := v.parse()
		if err != nil || h.dist == 0 || h.dist > uint64(c.end()-n) {
			it.base = pattern // damage shows when the step is done
			break
		}
		n += uint32(h.dist) //nolint:gosec // see above
	}
	it.to = len(u.steps)
	u.items = append(u.items, it)
	u.index[at] = len(u.items) - 1
	return len(u.items) - 1
}

// addEvent plans a packed event and returns it, still without versions. Log.mu is held.
func (u *unpacking) addEvent(p *packedEvent, number uint64, pattern *Object) *Event {
	e := &Event{Rev: p.rev, Shown: p.shown, Type: p.typ, Late: p.late}
	x := unpackEvent{event: e, number: number, object: u.add(p.chain, p.object(), pattern), prev: -1}
	switch p.typ {
	case Modified:
		x.prev = u.add(p.chain, p.version, pattern)
	case Deleted:
		x.prev = x.object
	}
	u.events = append(u.events, x)
	return e
}

// damage says which version could not be made whole.
type damage struct {
	place
	err error
}

func (d *damage) Error() string { return fmt.Sprintf("%s: %v", d.chain.key, d.err) }
func (d *damage) Unwrap() error { return d.err }

// object returns the version that an item is. It fails with a damage.
func (u *unpacking) object(i int) (*Object, error) {
	it := &u.items[i]
	if it.object != nil {
		return it.object, nil
	}
	base := it.base
	if it.after >= 0 {
		var err error
		if base, err = u.object(it.after); err != nil {
			return nil, err
		}
	}
	o, err := unpack(base, u.steps[it.from:it.to])
	if err != nil {
		return nil, &damage{place{it.chain, it.newest}, err}
	}
	it.object = o
	return o, nil
}

// finish makes the events whole.
func (u *unpacking) finish() error {
	for i := range u.events {
		x := &u.events[i]
		var err error
		if x.event.Object, err = u.object(x.object); err != nil {
			return err
		}
		if x.prev >= 0 {
			if x.event.Prev, err = u.object(x.prev); err != nil {
				return err
			}
		}
	}
	return nil
}

// scratch is memory for the versions on the way.
type scratch struct{ a, b []byte }

var scratches = sync.Pool{New: func() any { return &scratch{} }}

// keptScratch is how much of it is kept.
const keptScratch = 256 << 10

// unpack returns what steps, of which the last comes first, make of base.
func unpack(base *Object, steps []version) (*Object, error) {
	if base == nil {
		base = &Object{}
	}
	if len(steps) == 0 {
		if base.rev == 0 {
			return nil, fmt.Errorf("%w: a version is not there", errDamaged)
		}
		return base, nil
	}
	s := scratches.Get().(*scratch) //nolint:forcetypeassert // what New returns
	defer s.release()
	text := base.text()
	for i := len(steps) - 1; i >= 0; i-- {
		h, check, data, err := steps[i].parse()
		if err != nil {
			return nil, err
		}
		dst := s.a
		if i == 0 {
			dst = nil
		}
		out, err := h.text(dst, text, data)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			return steps[0].whole(out, h, check)
		}
		text = patch.Text{Head: out}
		s.a, s.b = s.b, out
	}
	return nil, errDamaged // not reached
}

func (s *scratch) release() {
	if cap(s.a)+cap(s.b) <= keptScratch {
		scratches.Put(s)
	}
}
