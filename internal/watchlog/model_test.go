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
	t       *testing.T
	rng     *rand.Rand
	log     *Log
	rev     uint64
	uid     int
	wait    bool // for the packer
	live    map[string]pod
	states  map[uint64]map[string]pod // position → key → version, for the positions a batch ended at
	objects map[uint64]*Object        // by their revisions
	events  []*Event
	gaps    []Gap
}

// windows are what the model is held against: nothing packed, all but a few events, and whatever comes out of a packer
// that is never waited for.
var windows = []struct {
	name string
	hot  heat
	wait bool
}{
	{"hot", heat{events: 1000, bytes: 1 << 30, step: 1}, false},
	{"one hot", heat{events: 1, bytes: 1 << 30, step: 1}, true},
	{"few hot", heat{events: 20, bytes: 1 << 30, step: 7}, true},
	{"few bytes hot", heat{events: 1000, bytes: 8000, step: 1}, true},
	{"packed meanwhile", heat{events: 10, bytes: 1 << 30, step: 1}, false},
}

// TestLogAgainstModel commits random exact and catch-up batches and holds exact lists, selections and readers of all
// kinds against brute force.
func TestLogAgainstModel(t *testing.T) {
	for _, w := range windows {
		for seed := range uint64(5) {
			t.Run(fmt.Sprint(w.name, " ", seed), func(t *testing.T) {
				m := &model{
					t: t, rng: rand.New(rand.NewPCG(seed, 7)), rev: 100, live: map[string]pod{}, wait: w.wait, objects: map[uint64]*Object{},
					states: map[uint64]map[string]pod{}, log: loaded(t, 100, Config{MaxEvents: 150}),
				}
				m.log.hot = w.hot
				m.states[100] = map[string]pod{}
				m.run()
			})
		}
	}
}

func (m *model) run() {
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
			checkWindow(m.t, m.log)
		}
	}
	for _, r := range readers {
		r.catchUp()
		r.r.Close()
	}
	if len(m.log.interests) != 0 {
		m.t.Errorf("interests without a reader: %d", len(m.log.interests))
	}
	m.log.Close(nil)
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
	op := p.op(m.t, m.log.Decoder())
	m.objects[p.rev] = op.Object
	return op
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
			ops = append(ops, Op{Key: key, Rev: p.rev, Object: m.objects[p.rev]})
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
	if m.wait {
		m.log.packers.Wait()
	}
	m.events = append(m.events, b.Events...)
	m.remember()
}

func (m *model) remember() {
	m.states[m.rev] = maps.Clone(m.live)
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
		if s.Len() != len(want) || s.Rev() != rev {
			m.t.Fatalf("list at %d is of %d, has %d objects, want %d", rev, s.Rev(), s.Len(), len(want))
		}
		var on []string
		for o := range s.All("") {
			p := want[o.Key()]
			sameObject(m.t, o, m.objects[p.rev])
			if p.node == "n2" {
				on = append(on, o.Key())
			}
		}
		equal(m.t, "on n2", keys(s.Select(WithField("spec.nodeName", "n2"), "")), on)
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
			if k >= from && term.Matches(pods, m.objects[p.rev]) {
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
		if len(r.terms) == 0 || slices.ContainsFunc(r.terms, func(t Term) bool { return t.matchesEvent(pods, e.Object, e.Prev) }) {
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
		if e := r.want(); !unindexed && (e == nil || uint64(r.next) >= r.m.log.win.first-1) {
			r.m.t.Fatalf("cut although %v is there", e)
		}
		r.lost = true
		return false
	}
	if err != nil {
		r.m.t.Fatal(err)
	}
	for _, e := range p.Events {
		w := r.want()
		if w == nil {
			r.m.t.Fatalf("got %s, want none (terms %v)", describe(e), r.terms)
		}
		sameEvent(r.m.t, e, w)
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
		t: t, rng: rand.New(rand.NewPCG(3, 3)), rev: 100, live: map[string]pod{}, objects: map[uint64]*Object{},
		states: map[uint64]map[string]pod{}, log: loaded(t, 100, Config{}),
	}
	for range 100 {
		m.step()
	}
	w := &m.log.win
	c := Content{Objects: slices.Collect(m.log.Snapshot().All("")), Rev: m.rev, Floor: w.floor, History: w.events, Gaps: w.gaps}
	again := New(pods, Config{})
	again.hot = heat{events: 4, bytes: 1 << 30, step: 1}
	if err := again.Load(c); err != nil {
		t.Fatal(err)
	}
	again.packers.Wait()
	if again.win.packed.n == 0 {
		t.Fatal("nothing of the history was packed")
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
