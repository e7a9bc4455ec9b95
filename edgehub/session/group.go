package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tombolo-sync/tombolo/edgehub/store"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// group is what goes into one transaction: exact steps, which become visible with it, and parts of catch-ups, which are
// staged.
type group struct {
	s     *session
	bytes int     // of objects
	parts []*part // in the order in which their replicas came first
	// answers become true with the group.
	answers []answered
}

// part is a group's share of one replica.
type part struct {
	r      *replica
	ops    []watchlog.Op // exact, in order
	upto   uint64        // the position behind ops; 0: none
	staged []watchlog.Op
	stage  uint64 // everything up to here is staged
	left   uint64 // objects of the catch-up that are still to come
	batch  watchlog.Batch
	held   *holdings // with the exact operations taken so far
}

func newGroup(s *session) *group { return &group{s: s} }

// part returns the group's share of r.
func (g *group) part(r *replica) *part {
	for _, p := range g.parts {
		if p.r == r {
			return p
		}
	}
	p := &part{r: r}
	g.parts = append(g.parts, p)
	return p
}

// stages tells whether the group has a part of a catch-up.
func (g *group) stages() bool {
	return slices.ContainsFunc(g.parts, func(p *part) bool { return p.stage > 0 })
}

// take puts a message into the group. It returns false for one that stands for itself.
func (g *group) take(m *tombolov1.SyncResponse) (bool, error) {
	switch m := m.GetMessage().(type) {
	case *tombolov1.SyncResponse_Batch:
		r, err := g.s.replica(m.Batch.GetSubscription())
		if err != nil {
			return true, err
		}
		if m.Batch.GetGapFrom() != 0 && !m.Batch.GetMore() && !r.step.open {
			return false, nil // ends a step that has a gap
		}
		return true, g.batch(r, m.Batch)
	case *tombolov1.SyncResponse_Progress:
		return true, g.progress(m.Progress)
	case *tombolov1.SyncResponse_Answer:
		g.answer(m.Answer)
		return true, nil
	default:
		return false, nil
	}
}

// progress takes in positions that moved without an event, and what the hub has lost sight of.
func (g *group) progress(p *tombolov1.Progress) error {
	for _, a := range p.GetAdvances() {
		r, err := g.s.replica(a.GetSubscription())
		if err != nil {
			return err
		}
		if r.step.open || len(r.step.exact) > 0 {
			return fmt.Errorf("%s: the hub reports progress inside a step", r.gr)
		}
		if r.need != nil {
			continue
		}
		if err := checkRev(r, a.GetRev()); err != nil {
			return err
		}
		part := g.part(r)
		part.upto = max(part.upto, a.GetRev())
	}
	lost := map[uint32]*tombolov1.Loss{}
	for _, l := range p.GetLost() {
		lost[l.GetSubscription()] = l
	}
	for id, r := range g.s.ids {
		r.setLost(lost[id])
	}
	g.s.recovered()
	return nil
}

// batch takes in a batch that becomes visible with the group, or that is part of a longer step.
func (g *group) batch(r *replica, b *tombolov1.Batch) error {
	operations, err := g.s.unpack(r, b)
	if err != nil {
		return fmt.Errorf("%s: %w", r.gr, err)
	}
	g.s.acks.owed, g.s.acks.due = true, g.s.acks.due || b.GetPrompt()
	if r.need != nil {
		return nil
	}
	p := g.part(r)
	exact := !r.step.open && b.GetGapFrom() == 0
	ops, missed, err := g.decode(p, operations, exact)
	switch {
	case err != nil:
		return err
	case missed != nil:
		return g.s.miss(r, missed, p.position())
	}
	for _, op := range ops {
		if op.Object != nil {
			g.bytes += op.Object.Size()
		}
	}
	switch {
	case !exact:
		if r.asked {
			ops = r.instead(ops)
		}
		p.staged = append(p.staged, ops...)
		p.stage, p.left = max(p.stage, b.GetUptoRev(), r.step.staged, r.log.Rev(), 1), b.GetRemaining()
	case b.GetMore():
		return r.step.hold(ops)
	default:
		ops = append(r.step.release(), ops...)
		p.ops = append(p.ops, p.unknown(ops)...)
		p.upto = max(p.upto, b.GetUptoRev())
	}
	return nil
}

// decode turns operations into ops; see session.decode. Of an exact step it leaves out patches up to where the part is
// already: they came before, and what they are against is gone.
func (g *group) decode(p *part, operations []*tombolov1.Operation, exact bool) ([]watchlog.Op, map[string]uint64, error) {
	if !exact {
		return g.s.decode(p.r, operations, nil)
	}
	if p.held == nil {
		p.held = newHoldings(p.r)
	}
	at := p.position()
	operations = slices.DeleteFunc(operations, func(o *tombolov1.Operation) bool {
		return o.GetRev() <= at && o.GetEncoding() == tombolov1.Encoding_ENCODING_ZSTD_PATCH
	})
	return g.s.decode(p.r, operations, p.held)
}

// position returns where the replica is once the part is applied.
func (p *part) position() uint64 { return max(p.upto, p.r.log.Rev()) }

// unknown returns the operations that an earlier batch of the group does not cover. What the log covers, Plan leaves out;
// what is out of order inside a batch is for Commit to refuse.
func (p *part) unknown(ops []watchlog.Op) []watchlog.Op {
	if p.upto == 0 {
		return ops
	}
	return slices.DeleteFunc(ops, func(op watchlog.Op) bool {
		return op.Rev < p.upto || op.Rev == p.upto && op.Object != nil
	})
}

// commit makes the group durable, then visible, then known to the hub and to who waits for it.
func (g *group) commit() error {
	if err := g.land(); err != nil {
		return err
	}
	g.settle()
	return nil
}

func (g *group) land() error {
	work := g.parts[:0]
	for _, p := range g.parts {
		p.plan()
		if p.batch.Rev > 0 || p.stage > 0 {
			work = append(work, p)
		}
	}
	if len(work) == 0 {
		return nil
	}
	start := time.Now()
	if err := g.s.c.cfg.Store.Update(func(tx *store.Tx) error { return g.s.write(tx, work) }); err != nil {
		return err
	}
	g.s.c.metrics.commits.Observe(time.Since(start).Seconds())
	g.s.progressed = true
	// All of it is on disk, so all of it becomes visible before anything else can fail: a log that is behind its store
	// would not take what follows.
	var failed error
	for _, p := range work {
		if err := p.publish(); err != nil {
			failed = errors.Join(failed, g.s.diverged(p.r, err))
		}
	}
	if failed != nil {
		return failed
	}
	g.note(work)
	return nil
}

// note notes what is durable now, for the hub. A position that moved without an operation is not worth a message: on an
// idle link there would be little else.
func (g *group) note(work []*part) {
	for _, p := range work {
		if len(p.ops) > 0 && p.batch.Rev > 0 {
			g.s.acks.note(g.s.numbers[p.r], p.batch.Rev)
		}
		if p.stage > 0 {
			g.s.loads(p.r, p.left)
			g.s.acks.due = true
		}
	}
}

// plan makes the batch of the part's exact operations, none when they change nothing.
func (p *part) plan() {
	rev := p.r.log.Rev()
	if p.upto < rev || p.upto == rev && len(p.ops) == 0 {
		return
	}
	if b := p.r.log.Snapshot().Plan(p.ops, p.upto); b.Rev > rev || len(b.Events) > 0 {
		p.batch = b
	}
}

// write is the group's transaction.
func (s *session) write(tx *store.Tx, parts []*part) error {
	if time.Since(s.noted) > noteEvery {
		if err := s.noteContact(tx); err != nil {
			return err
		}
	}
	for _, p := range parts {
		if p.batch.Rev > 0 {
			if err := tx.Apply(p.r.gr, p.batch); err != nil {
				return err
			}
		}
		if p.stage > 0 {
			if err := tx.Stage(p.r.gr, p.staged, p.stage); err != nil {
				return err
			}
		}
	}
	return nil
}

// publish makes visible what has become durable.
func (p *part) publish() error {
	if p.batch.Rev > 0 {
		if err := p.r.log.Commit(p.batch); err != nil {
			return err
		}
		p.r.digest.Apply(p.batch.Events)
	}
	if p.stage > 0 {
		p.r.step.add(p.staged)
		p.r.step.staged = p.stage
	}
	return nil
}

// add puts operations of a catch-up over what is known of their keys.
func (st *step) add(ops []watchlog.Op) {
	for _, op := range ops {
		if old, ok := st.ops[op.Key]; ok && op.Rev != 0 && op.Rev < old.Rev {
			continue
		}
		st.ops[op.Key] = op
	}
}

// replica returns the replica that a subscription id stands for.
func (s *session) replica(id uint32) (*replica, error) {
	if r := s.ids[id]; r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("the hub refers to subscription %d, which it has not announced", id)
}
