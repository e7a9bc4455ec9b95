package store

import (
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// checker verifies one resource.
type checker struct {
	r      *resource
	report *Report
	out    ResourceReport

	bodies map[uint64]*bodyFacts
	ends   map[string]uint64 // where the window's events leave each key: the body that is live after them, 0 for none
}

// bodyFacts is what a body says of itself, and how often it is referenced.
type bodyFacts struct {
	key  string
	rev  uint64
	size int
	refs int
}

func (c *checker) run() ResourceReport {
	c.bodies, c.ends = map[uint64]*bodyFacts{}, map[string]uint64{}
	p := &c.r.progress
	c.out = ResourceReport{Name: c.r.name, Rev: p.rev, StagedRev: p.staged, Oldest: p.oldest, Gaps: len(p.gaps)}
	c.readBodies()
	c.readIndex()
	c.readStaged()
	c.readEvents()
	c.verifyProgress()
	for id, f := range c.bodies {
		if f.refs != 1 {
			c.problem("body %d of %s is referenced %d times", id, f.key, f.refs)
		}
	}
	return c.out
}

func (c *checker) problem(format string, args ...any) {
	c.report.problem(c.r.name+": "+format, args...)
}

// note adds err, if there is one, to the problems.
func (c *checker) note(err error) {
	if err != nil {
		c.problem("%v", err)
	}
}

func (c *checker) readBodies() {
	d, err := c.r.description()
	if err != nil {
		c.report.note(err)
	}
	c.out.Epoch, c.out.Scope = d.Epoch, d.Scope
	dec := watchlog.NewDecoder(&d.Resource)
	c.note(each(c.r.bodies, "bodies", func(k, v []byte) error {
		c.out.Bodies++
		id, err := decodeID(k)
		if err != nil {
			c.note(err)
			return nil
		}
		raw, err := c.r.vault.unseal(k, v)
		if err != nil {
			c.note(err)
			return nil
		}
		o, err := dec.DecodeJoined(raw)
		if err != nil {
			c.problem("body %d: %v", id, err)
			return nil
		}
		if id > c.r.bodies.Sequence() {
			c.problem("body %d is beyond %d", id, c.r.bodies.Sequence())
		}
		c.bodies[id] = &bodyFacts{key: o.Key(), rev: o.Rev(), size: o.Size()}
		c.out.BodyBytes += int64(o.Size())
		return nil
	}))
}

// body returns what is known of a body that what references as a version of key.
func (c *checker) body(id uint64, key, what string) *bodyFacts {
	f := c.bodies[id]
	if f == nil {
		c.problem("%s of %s names body %d, which is missing or unreadable", what, key, id)
		return nil
	}
	if f.key != key {
		c.problem("%s of %s names body %d, which is %s", what, key, id, f.key)
	}
	return f
}

// entry verifies an entry of index or staged that names a body, and counts the reference.
func (c *checker) entry(k, v []byte, what string) {
	e, err := decodeEntry(v)
	if err != nil {
		c.problem("%s of %s: %v", what, k, err)
		return
	}
	if e.id == 0 && what == "staged" {
		return
	}
	f := c.body(e.id, string(k), what)
	if f == nil {
		return
	}
	f.refs++
	if f.rev != e.rev {
		c.problem("%s of %s is at %d, its body at %d", what, k, e.rev, f.rev)
	}
}

func (c *checker) readIndex() {
	c.note(each(c.r.index, "index", func(k, v []byte) error {
		c.out.Objects++
		c.entry(k, v, "index")
		return nil
	}))
}

func (c *checker) readStaged() {
	c.note(each(c.r.staged, "staged", func(k, v []byte) error {
		c.out.Staged++
		c.entry(k, v, "staged")
		return nil
	}))
}

func (c *checker) readEvents() {
	next, at := uint64(0), uint64(0)
	c.note(each(c.r.events, "events", func(k, v []byte) error {
		c.out.Events++
		seq, e, err := readEvent(k, v)
		if err != nil {
			c.note(err)
			next = 0
			return nil
		}
		if next != 0 && seq != next {
			c.problem("event %d follows %d", seq, next-1)
		}
		if e.rev < at || e.rev > c.r.progress.rev {
			c.problem("event %d is at %d, after %d and before the position %d", seq, e.rev, at, c.r.progress.rev)
		}
		next, at = seq+1, e.rev
		c.event(seq, e)
		return nil
	}))
	if c.out.Events > 0 && next != c.r.events.Sequence()+1 {
		c.problem("events end at %d, should at %d", next-1, c.r.events.Sequence())
	}
	c.verifyEnds()
}

// event verifies the versions that an event names.
func (c *checker) event(seq uint64, e eventRecord) {
	c.out.WindowBytes += eventOverhead
	if f := c.body(e.object, e.key, "event"); f != nil && e.typ != watchlog.Deleted && f.rev != e.shown {
		c.problem("event %d shows %d, its object %d", seq, e.shown, f.rev)
	}
	if e.prev != 0 {
		if f := c.body(e.prev, e.key, "event"); f != nil {
			f.refs++
			c.out.WindowBytes += int64(f.size)
		}
	}
	if live, ok := c.ends[e.key]; ok && live != e.prev {
		c.problem("event %d of %s is against body %d, the one before left %d", seq, e.key, e.prev, live)
	}
	c.ends[e.key] = e.object
	if e.typ == watchlog.Deleted {
		c.ends[e.key] = 0
	}
}

// verifyEnds verifies that the events in the window lead to what is live.
func (c *checker) verifyEnds() {
	for key, id := range c.ends {
		if e, _, _ := find(c.r.index, key); e.id != id { // an entry that can't be read was reported before
			c.problem("events of %s lead to body %d, live is %d", key, id, e.id)
		}
	}
}

func (c *checker) verifyProgress() {
	p := &c.r.progress
	if p.bytes != uint64(c.out.WindowBytes) {
		c.problem("window costs %d, should %d", p.bytes, c.out.WindowBytes)
	}
	if p.rev == 0 && c.out.Objects+c.out.Events+len(p.gaps) > 0 {
		c.problem("%d objects, %d events and %d gaps without a position", c.out.Objects, c.out.Events, len(p.gaps))
	}
	if p.staged == 0 && c.out.Staged > 0 {
		c.problem("%d staged without a staged position", c.out.Staged)
	}
	if p.oldest > p.rev || (p.oldest == 0) != (p.rev == 0) {
		c.problem("window from %d at position %d", p.oldest, p.rev)
	}
	at := p.oldest
	for _, g := range p.gaps {
		if g.From < at || g.To <= g.From || g.To > p.rev {
			c.problem("gap from %d to %d, after %d at position %d", g.From, g.To, at, p.rev)
		}
		at = g.To
	}
}
