package watchlog

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// model is the plain truth that a log is held against: every state it ever had, by position.
type model struct {
	t      *testing.T
	rng    *rand.Rand
	log    *Log
	rev    uint64
	uid    int
	live   map[string]pod
	states map[uint64]map[string]uint64 // position → key → version, for the positions a batch ended at
	events []*Event
	gaps   []Gap
}

// TestLogAgainstModel commits random exact and catch-up batches and holds exact lists, selections and readers of all
// kinds against brute force.
func TestLogAgainstModel(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := &model{
				t: t, rng: rand.New(rand.NewPCG(seed, 7)), rev: 100, live: map[string]pod{},
				states: map[uint64]map[string]uint64{}, log: loaded(t, 100, Config{MaxEvents: 150}),
			}
			m.states[100] = map[string]uint64{}
			var readers []*modelReader
			for range 200 {
				m.step()
				if m.rng.IntN(10) == 0 {
					readers = append(readers, m.newReader())
				}
				for _, r := range readers {
					r.maybeRead()
				}
				if m.rng.IntN(4) == 0 {
					m.checkExact()
					m.checkSelect()
				}
			}
			for _, r := range readers {
				r.catchUp()
				r.r.Close()
			}
			if len(m.log.interests) != 0 {
				t.Errorf("interests without a reader: %d", len(m.log.interests))
			}
		})
	}
}

func (m *model) step() {
	switch m.rng.IntN(10) {
	case 0:
		m.catchup()
	case 1:
		m.rev += uint64(m.rng.IntN(3))
		commit(m.t, m.log, Batch{Rev: m.rev})
		m.remember()
	default:
		var ops []Op
		for range 1 + m.rng.IntN(4) {
			ops = append(ops, m.change())
		}
		m.commit(m.log.Snapshot().Plan(ops, m.rev))
	}
}

// change makes one random write and returns it as an op.
func (m *model) change() Op {
	m.rev += uint64(1 + m.rng.IntN(3))
	p := pod{
		ns: pick(m.rng, "a", "a-b", "c"), name: fmt.Sprint("p", m.rng.IntN(12)), node: pick(m.rng, "n1", "n2", "n3"),
		app: pick(m.rng, "x", "y"), rev: m.rev,
	}
	key := KeyOf(p.ns, p.name)
	old, ok := m.live[key]
	if ok && m.rng.IntN(3) == 0 {
		delete(m.live, key)
		return Op{Key: key, Rev: m.rev}
	}
	if p.uid = old.uid; !ok || m.rng.IntN(8) == 0 {
		m.uid++
		p.uid = fmt.Sprint("u", m.uid)
	}
	m.live[key] = p
	return p.op(m.t, m.log.Decoder())
}

func (m *model) catchup() {
	before := maps.Clone(m.live)
	from := m.rev
	for range 1 + m.rng.IntN(8) {
		m.change()
	}
	m.rev += uint64(m.rng.IntN(2))
	var ops []Op
	for key, p := range m.live {
		if p.rev > from {
			ops = append(ops, p.op(m.t, m.log.Decoder()))
		}
		delete(before, key)
	}
	for key := range before {
		ops = append(ops, Op{Key: key})
	}
	m.gaps = append(m.gaps, Gap{from, m.rev})
	m.commit(m.log.Snapshot().PlanCatchup(ops, m.rev))
}

func (m *model) commit(b Batch) {
	commit(m.t, m.log, b)
	m.events = append(m.events, b.Events...)
	m.remember()
}

func (m *model) remember() {
	state := map[string]uint64{}
	for k, p := range m.live {
		state[k] = p.rev
	}
	m.states[m.rev] = state
}

// hidden tells whether rev is strictly inside a gap.
func (m *model) hidden(rev uint64) bool {
	return slices.ContainsFunc(m.gaps, func(g Gap) bool { return g.hides(rev) })
}

func (m *model) checkExact() {
	for rev, want := range m.states {
		s, err := m.log.SnapshotAt(rev)
		if rev < m.log.Oldest() || m.hidden(rev) {
			if !errors.Is(err, ErrCompacted) {
				m.t.Fatalf("list at %d: %v", rev, err)
			}
			delete(m.states, rev)
			continue
		}
		if err != nil {
			m.t.Fatalf("list at %d (log %d to %d): %v", rev, m.log.Oldest(), m.log.Rev(), err)
		}
		got := map[string]uint64{}
		for o := range s.All("") {
			got[o.Key()] = o.Rev()
		}
		if !maps.Equal(got, want) || s.Rev() != rev {
			m.t.Fatalf("list at %d is of %d: %v, want %v", rev, s.Rev(), got, want)
		}
	}
}

func (m *model) checkSelect() {
	s := m.log.Snapshot()
	for _, term := range []Term{
		Everything(), InNamespace("a"), InNamespace("none"), WithKey("a/p1"), WithField("spec.nodeName", "n2"),
		WithLabel("app", "y"), WithLabel("app", "none"),
	} {
		from := pick(m.rng, "", "a/", "a-b/p3", "c/p9", "d")
		var want []string
		for k, p := range m.live {
			if k >= from && term.Matches(pods, p.object(m.t, m.log.Decoder())) {
				want = append(want, k)
			}
		}
		slices.Sort(want)
		equal(m.t, fmt.Sprintf("%v from %q", term, from), keys(s.Select(term, from)), want)
		if n := s.CountFrom(term, from); n != len(want) {
			m.t.Fatalf("%v from %q counts %d, want %d", term, from, n, len(want))
		}
	}
}

// modelReader is a reader together with the events that it must get.
type modelReader struct {
	m     *model
	r     *Reader
	terms []Term
	from  uint64
	next  int // index in model.events of the next event to come
	rev   uint64
	lost  bool
}

func (m *model) newReader() *modelReader {
	r := &modelReader{m: m}
	for range m.rng.IntN(3) {
		r.terms = append(r.terms, []Term{
			InNamespace("a"), WithKey("c/p1"), WithField("spec.nodeName", "n2"), WithLabel("app", "y"), Everything(),
		}[m.rng.IntN(5)])
	}
	var err error
	wake := make(Signal, 1)
	if m.rng.IntN(2) == 0 {
		snap := m.log.Snapshot()
		r.from = snap.Rev()
		r.r, err = snap.NewReader(wake, r.terms...)
	} else {
		r.from = m.log.Oldest() + m.rng.Uint64N(m.rev-m.log.Oldest()+1)
		r.r, err = m.log.NewReader(r.from, wake, r.terms...)
	}
	if m.hidden(r.from) {
		if !errors.Is(err, ErrCompacted) {
			m.t.Fatalf("watch from %d inside a gap: %v", r.from, err)
		}
		r.from = m.rev
		r.r, err = m.log.NewReader(r.from, wake, r.terms...)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	r.rev = r.from
	for r.next < len(m.events) && m.events[r.next].Rev <= r.from {
		r.next++
	}
	return r
}

func (r *modelReader) maybeRead() {
	if r.m.rng.IntN(4) == 0 {
		r.read()
	}
}

func (r *modelReader) catchUp() {
	for more := true; more && !r.lost; {
		more = r.read()
	}
	if !r.lost && (r.rev != r.m.rev || r.want() != nil) {
		r.m.t.Fatalf("caught up at %d, log at %d, missing %v", r.rev, r.m.rev, r.want())
	}
}

// want returns the next event that the reader has to get.
func (r *modelReader) want() *Event {
	for ; r.next < len(r.m.events); r.next++ {
		e := r.m.events[r.next]
		if len(r.terms) == 0 || slices.ContainsFunc(r.terms, func(t Term) bool { return t.matchesEvent(pods, e) }) {
			return e
		}
	}
	return nil
}

func (r *modelReader) read() bool {
	if r.lost {
		return false
	}
	p, err := r.r.Read(make([]*Event, 0, 1+r.m.rng.IntN(5)))
	if errors.Is(err, ErrCompacted) {
		unindexed := slices.ContainsFunc(r.r.terms, func(in *interest) bool {
			return in.term.kind == everything || r.r.seq < in.since
		})
		if e := r.want(); !unindexed && (e == nil || slices.Contains(r.m.log.win.events, e)) {
			r.m.t.Fatalf("cut although %v is there", e)
		}
		r.lost = true
		return false
	}
	if err != nil {
		r.m.t.Fatal(err)
	}
	for _, e := range p.Events {
		if w := r.want(); w != e {
			r.m.t.Fatalf("got %s, want %v (terms %v)", describe(e), w, r.terms)
		}
		if in := !p.Gap.Empty(); in && (e.Rev <= p.Gap.From || e.Rev > p.Gap.To) || !in && r.m.inGap(e.Rev) {
			r.m.t.Fatalf("%s with gap %v", describe(e), p.Gap)
		}
		r.next++
	}
	if p.Rev < r.rev || r.m.hidden(p.Rev) {
		r.m.t.Fatalf("position %d after %d, in a gap: %v", p.Rev, r.rev, r.m.hidden(p.Rev))
	}
	if w := r.want(); w != nil && w.Rev <= p.Rev {
		r.m.t.Fatalf("position %d although %s was not returned", p.Rev, describe(w))
	}
	r.rev = p.Rev
	return p.More || len(p.Events) > 0
}

func (m *model) inGap(rev uint64) bool {
	return slices.ContainsFunc(m.gaps, func(g Gap) bool { return g.From < rev && rev <= g.To && g.To > g.From })
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// TestRestoredLogGoesOn: a log restored from what another held serves the same lists and watches.
func TestRestoredLogGoesOn(t *testing.T) {
	m := &model{
		t: t, rng: rand.New(rand.NewPCG(3, 3)), rev: 100, live: map[string]pod{},
		states: map[uint64]map[string]uint64{}, log: loaded(t, 100, Config{}),
	}
	for range 100 {
		m.step()
	}
	w := &m.log.win
	c := Content{Objects: slices.Collect(m.log.Snapshot().All("")), Rev: m.rev, Floor: w.floor, History: w.events, Gaps: w.gaps}
	again := New(pods, Config{})
	if err := again.Load(c); err != nil {
		t.Fatal(err)
	}
	m.log = again
	for range 20 {
		m.step()
		m.checkExact()
	}
	r, err := again.NewReader(100, make(Signal, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var want []string
	for _, e := range m.events {
		want = append(want, describe(e))
	}
	if got := drain(t, r, 7); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("got %d events, want %d", len(got), len(want))
	}
}
