package guarantee

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// restoredRun is a correct history of a cloud that was restored once, settled.
type restoredRun struct {
	h                 *History
	old, new          *cloud
	strict, coalesced *Reader
	mark              uint64 // when it was restored
}

// newRestoredRun plays a random history: the readers of edges are told of the restore at some time after it.
func newRestoredRun(seed uint64) *restoredRun {
	rng := rand.New(rand.NewPCG(seed, 3))
	h := NewHistory()
	u := &restoredRun{h: h, old: newCloud(h, rng)}
	source := &client{r: h.Reader(ReaderConfig{Name: "source", Server: "cloud", Resource: resource, Source: true}), c: u.old, steady: true}
	u.strict = h.Reader(ReaderConfig{Name: "strict", Server: "edge-1", Resource: resource, Match: inTeamA})
	u.coalesced = h.Reader(ReaderConfig{Name: "coalesced", Server: "edge-2", Resource: resource, Match: inTeamA, Coalesced: true, NeverExpires: true})
	edges := []*client{{r: u.strict, c: u.old, match: inTeamA, steady: true}, {r: u.coalesced, c: u.old, match: inTeamA, steady: true}}
	source.start()
	play(rng, u.old, 60, append(edges, source))
	backup := u.old.rv
	play(rng, u.old, 60, append(edges, source))
	source.settle()
	source.r.Close()

	h.Restored(backup, u.old.rv)
	u.mark, u.new = h.seq, u.old.restored(backup)
	source = &client{r: h.Reader(ReaderConfig{Name: "source 2", Server: "cloud", Resource: resource, Source: true}), c: u.new, steady: true}
	source.start()
	play(rng, u.new, 20, append(edges, source)) // the edges' streams bring the rest of the old history
	for _, k := range edges {
		if k.open {
			k.r.Ended()
			k.r.Expired(k.r.Position())
		}
		k.open, k.c = false, u.new
	}
	play(rng, u.new, 60, append(edges, source))
	for _, k := range append(edges, source) {
		k.settle()
	}
	h.Settle(u.new.rv)
	return u
}

func play(rng *rand.Rand, c *cloud, steps int, clients []*client) {
	for range steps {
		c.write()
		clients[rng.IntN(len(clients))].step()
	}
}

// restored is a cloud that goes on from where this one was at a revision.
func (c *cloud) restored(backup uint64) *cloud {
	n := &cloud{rng: c.rng, h: c.h, rv: backup, uids: c.uids, objects: map[string]Object{}}
	for _, s := range c.log {
		if s.rv <= backup {
			n.log = append(n.log, s)
		}
	}
	maps.Copy(n.objects, n.stateAt(backup, nil))
	return n
}

func TestRestoredHistoriesHaveNoViolation(t *testing.T) {
	for seed := range uint64(60) {
		u := newRestoredRun(seed)
		for _, v := range u.h.Check() {
			t.Errorf("seed %d: %v", seed, v)
		}
		if t.Failed() {
			return
		}
	}
}

// restoreMutations are what a reader must not be shown when the cloud was restored.
var restoreMutations = []struct {
	name   string
	want   []error
	inject func(u *restoredRun, r *Reader, rng *rand.Rand) bool
}{
	{"the position is not taken", []error{ErrFaithful, ErrOrdered, ErrGapless, ErrDeletesSurvive, ErrIsolated, ErrUnique, ErrConvergent}, func(u *restoredRun, r *Reader, _ *rand.Rand) bool {
		i := u.told(r)
		if i < 0 || len(r.log) == i+1 {
			return false
		}
		// The stream goes on as if nothing had happened: neither 410 nor a new state.
		j := i + 1
		for j < len(r.log) && (r.log[j].kind != event || !u.isNew(r.log[j].obj) || r.log[j].initialIn(r, j)) {
			j++
		}
		if j == len(r.log) || !u.sawLost(r, i) {
			return false
		}
		r.log = slices.Delete(r.log, i, j)
		return true
	}},
	{"it is never told, and nothing more comes", []error{ErrConvergent}, func(u *restoredRun, r *Reader, _ *rand.Rand) bool {
		i := u.told(r)
		if i < 0 || !u.sawLost(r, i) {
			return false
		}
		r.log = r.log[:i]
		return true
	}},
	{"an event of the lost history after the new state", []error{ErrFaithful, ErrOrdered, ErrIsolated, ErrDeletesSurvive}, func(u *restoredRun, r *Reader, _ *rand.Rand) bool {
		i := u.told(r)
		if i < 0 {
			return false
		}
		lost := u.lost()
		if len(lost) == 0 {
			return false
		}
		for j := len(r.log) - 1; j > i; j-- {
			if r.log[j].kind == event && !r.log[j].initialIn(r, j) {
				o := lost[len(lost)-1]
				r.log = slices.Insert(r.log, j+1, observation{kind: event, typ: Modified, obj: o, rv: o.RV, seq: r.log[j].seq})
				return true
			}
		}
		return false
	}},
	{"a list of the lost history after the new state", []error{ErrFaithful, ErrOrdered, ErrGapless, ErrDeletesSurvive}, func(u *restoredRun, r *Reader, _ *rand.Rand) bool {
		v := view{objects: u.old.stateAt(u.old.rv, inTeamA)}
		last := r.log[len(r.log)-1].seq
		list := observation{kind: listed, rv: u.old.rv, items: v.list(), seq: last}
		again := observation{kind: listed, rv: u.new.rv, items: u.new.list(inTeamA), seq: last}
		r.log = append(r.log, again, list, again)
		return len(u.lost()) > 0
	}},
	{"an object of the lost history in the new state", []error{ErrFaithful}, func(u *restoredRun, r *Reader, _ *rand.Rand) bool {
		items := u.new.list(inTeamA)
		for _, o := range u.lost() {
			for i := range items {
				if items[i].Key == o.Key && items[i].RV != o.RV {
					items[i] = o
					r.log = append(r.log, observation{kind: listed, rv: u.new.rv, items: items, seq: r.log[len(r.log)-1].seq})
					return true
				}
			}
		}
		return false
	}},
	{"the end is that of the lost history", []error{ErrConvergent}, func(u *restoredRun, r *Reader, _ *rand.Rand) bool {
		i := u.told(r)
		if i < 0 || len(u.lost()) == 0 {
			return false
		}
		v := view{objects: u.old.stateAt(u.old.rv, inTeamA)}
		r.log = append(r.log[:i+1:i+1], observation{kind: listed, rv: u.old.rv, items: v.list(), seq: r.log[len(r.log)-1].seq})
		return true
	}},
}

// told returns where a reader was told of the restore, -1 when it got its state in another way.
func (u *restoredRun) told(r *Reader) int {
	return slices.IndexFunc(r.log, func(o observation) bool { return o.kind == expired && o.seq > u.mark })
}

// isNew tells whether only the new history has a version.
func (u *restoredRun) isNew(o Object) bool {
	return slices.ContainsFunc(u.new.log, func(s stored) bool { return s.after.Body == o.Body }) &&
		!slices.ContainsFunc(u.old.log, func(s stored) bool { return s.after.Body == o.Body })
}

// lost are versions that only the old history has, in the readers' scope.
func (u *restoredRun) lost() []Object {
	var lost []Object
	for _, s := range u.old.log {
		if admits(inTeamA, s.after) && !slices.ContainsFunc(u.new.log, func(n stored) bool { return n.after.Body == s.after.Body }) {
			lost = append(lost, s.after)
		}
	}
	return lost
}

// sawLost tells whether a reader was shown something before i that only the old history has.
func (u *restoredRun) sawLost(r *Reader, i int) bool {
	lost := u.lost()
	return slices.ContainsFunc(r.log[:i], func(o observation) bool {
		return o.kind == event && slices.ContainsFunc(lost, func(l Object) bool { return l.Body == o.obj.Body })
	})
}

// initialIn tells whether an event is an initial one.
func (o *observation) initialIn(r *Reader, i int) bool {
	for ; i >= 0; i-- {
		switch r.log[i].kind {
		case opened:
			return r.log[i].initial
		case bookmark:
			return false
		}
	}
	return false
}

// TestMixedHistoriesAreFound injects each fault of a restore into many histories.
func TestMixedHistoriesAreFound(t *testing.T) {
	for _, m := range restoreMutations {
		t.Run(m.name, func(t *testing.T) {
			applied := 0
			for seed := range uint64(12) {
				for _, coalesced := range []bool{false, true} {
					u := newRestoredRun(seed)
					r := u.strict
					if coalesced {
						r = u.coalesced
					}
					if !m.inject(u, r, rand.New(rand.NewPCG(seed, 4))) {
						continue
					}
					applied++
					r.h.review(r)
					wantOnly(t, fmt.Sprintf("seed %d, coalesced %t", seed, coalesced), u.h.Check(), m.want)
				}
			}
			if applied < 5 {
				t.Errorf("the fault applied to %d histories only", applied)
			}
		})
	}
}

// review makes a reader hold what its log says.
func (h *History) review(r *Reader) {
	r.view = view{}
	for i := range r.log {
		r.view.apply(&r.log[i])
	}
}

func wantOnly(t *testing.T, where string, found []Violation, want []error) {
	t.Helper()
	if len(found) == 0 {
		t.Errorf("%s: the fault goes unnoticed", where)
	}
	for _, v := range found {
		if !slices.ContainsFunc(want, func(err error) bool { return errors.Is(v, err) }) {
			t.Errorf("%s: the fault is called\n%v", where, v)
		}
	}
}

// carried is a reader that saw b, which is lost, and goes on with the new history as if it were the old one. c is written
// at a revision that the reader has passed.
func carried(again bool) *small {
	s := newSmall()
	edge := s.h.Reader(ReaderConfig{Name: "carried", Server: "edge", Resource: resource, Coalesced: true})
	edge.Listed(7, []Object{s.a, s.b}, Answer{Began: edge.Begin()})
	edge.Opened(7, false)
	s.source.Close()
	s.edge.Close()
	s.h.Restored(5, 7)
	source := s.h.Reader(ReaderConfig{Name: "source 2", Server: "cloud", Resource: resource, Source: true})
	source.Listed(5, []Object{s.a}, Answer{})
	source.Opened(5, false)
	write := func(o Object, typ EventType) {
		s.h.Wrote("cloud", resource, o)
		source.Event(typ, o)
	}
	c, d := object("ns/c", "uid-c", 6), object("ns/d", "uid-d", 8)
	write(c, Added)
	write(d, Added)
	gone := s.b
	edge.Event(Deleted, gone)
	edge.Event(Added, d)
	if again {
		c = object("ns/c", "uid-c", 9)
		write(c, Modified)
		edge.Event(Added, c)
	}
	return s
}

func TestCarriedOverWithoutATrace(t *testing.T) {
	s := carried(true)
	s.want(t, nil)
	if untold := s.h.Untold(); len(untold) != 1 {
		t.Errorf("untold are %v", untold)
	}
}

func TestCarriedOverAndSomethingIsMissing(t *testing.T) {
	s := carried(false)
	s.h.Settle(100)
	if found := s.h.Check(); len(found) == 0 || len(s.h.Untold()) > 0 {
		t.Errorf("found %v, untold are %v", found, s.h.Untold())
	}
}

// TestFaultsAfterARestoreHaveTheirNames injects the faults of one history into the one after a restore.
func TestFaultsAfterARestoreHaveTheirNames(t *testing.T) {
	for _, m := range slices.Concat(watchMutations(), coalescedMutations()) {
		t.Run(m.name, func(t *testing.T) {
			applied := 0
			for seed := range uint64(12) {
				u := newRestoredRun(seed)
				plain := &run{h: u.h, c: u.new, strict: u.strict, coalesced: u.coalesced}
				if !u.injectAfter(m, plain, rand.New(rand.NewPCG(seed, 5))) {
					continue
				}
				applied++
				wantOnly(t, fmt.Sprintf("seed %d", seed), u.h.Check(), []error{m.want})
			}
			if applied == 0 {
				t.Error("the fault applied nowhere")
			}
		})
	}
}

// injectAfter injects a fault at a random place behind the restore.
func (u *restoredRun) injectAfter(m mutation, plain *run, rng *rand.Rand) bool {
	r := m.reader(plain)
	for _, i := range rng.Perm(len(r.log)) {
		if told := u.told(r); told < 0 || i <= told {
			continue
		}
		if m.inject(&site{u: plain, r: r, i: i, rng: rng}) {
			return true
		}
	}
	return false
}

// TestBackToTheOldHistoryForAWhile: an edge meets a hub that has not noticed, each time with a 410.
func TestBackToTheOldHistoryForAWhile(t *testing.T) {
	for _, told := range []bool{true, false} {
		s := newSmall()
		edge := s.h.Reader(ReaderConfig{Name: "back", Server: "edge", Resource: resource, Coalesced: true})
		edge.Listed(7, []Object{s.a, s.b}, Answer{})
		edge.Opened(7, false)
		s.source.Close()
		s.edge.Close()
		s.h.Restored(5, 7)
		source := s.h.Reader(ReaderConfig{Name: "source 2", Server: "cloud", Resource: resource, Source: true})
		source.Listed(5, []Object{s.a}, Answer{})
		source.Opened(5, false)
		d := object("ns/d", "uid-d", 6)
		s.h.Wrote("cloud", resource, d)
		source.Event(Added, d)
		for _, state := range [][]Object{{s.a, d}, {s.a, s.b}, {s.a, d}} {
			if told {
				edge.Expired(edge.Position())
			}
			edge.Listed(state[1].RV, state, Answer{})
			edge.Opened(state[1].RV, false)
		}
		if told {
			s.want(t, nil)
			continue
		}
		s.h.Settle(100)
		if len(s.h.Check()) == 0 {
			t.Error("an untold step back goes unnoticed")
		}
	}
}
