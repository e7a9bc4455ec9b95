package store

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// model drives an edge at random. Its log says what the store must hold; what is staged it keeps itself.
type model struct {
	*edge
	rand      *rand.Rand
	uid       int
	last      watchlog.Batch // the one that was committed last
	staged    map[string]watchlog.Op
	stagedRev uint64
}

// TestRandomActions compares the store with a log in memory over random histories, with restarts and crashes among them.
func TestRandomActions(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := &model{rand: rand.New(rand.NewPCG(seed, 1)), staged: map[string]watchlog.Op{}}
			m.edge = newEdge(t, Options{Window: watchlog.Config{MaxEvents: 5 + m.rand.IntN(40), MaxBytes: 20_000}})
			for range 100 {
				m.step()
			}
			m.reopen()
			m.compare()
		})
	}
}

func (m *model) step() {
	m.t.Helper()
	for _, do := range []struct {
		weight int
		act    func()
	}{
		{30, m.change}, {5, m.bookmark}, {12, m.stageSome}, {6, m.finish}, {2, m.discard},
		{4, m.heal}, {4, m.again}, {4, m.fail}, {4, m.reopen}, {4, m.crash},
	} {
		if m.rand.IntN(40) < do.weight { // often several of them, in this order
			do.act()
		}
	}
	if m.rand.IntN(4) == 0 {
		m.compare()
	}
}

// object returns a new version, at rev, of one of a few objects; now and then it is another object by the same name.
func (m *model) object(rev uint64) *watchlog.Object {
	name := fmt.Sprintf("p%02d", m.rand.IntN(12))
	uid := fmt.Sprint("u", m.uid)
	if have := m.log.Snapshot().Get("ns/" + name); have != nil && m.rand.IntN(4) > 0 {
		uid = have.UID()
	} else {
		m.uid++
	}
	return pod(m.t, name, uid, rev, m.rand.IntN(1500))
}

// ops returns a few changes in the order of their revisions, and a position behind them.
func (m *model) ops(rev uint64) ([]watchlog.Op, uint64) {
	var ops []watchlog.Op
	for range m.rand.IntN(6) {
		rev += 1 + m.rand.Uint64N(3)
		if m.rand.IntN(3) == 0 {
			ops = append(ops, del(fmt.Sprintf("ns/p%02d", m.rand.IntN(12)), rev))
		} else {
			ops = append(ops, put(m.object(rev)))
		}
	}
	return ops, rev + m.rand.Uint64N(2)
}

func (m *model) commit(b watchlog.Batch) {
	m.t.Helper()
	first := m.log.Rev() == 0
	m.edge.commit(b)
	m.last = b
	if m.stagedRev != 0 && (first || !b.Gap.Empty() || b.Rev >= m.stagedRev) {
		m.stagedRev = 0
		clear(m.staged)
	}
	for _, e := range b.Events {
		if op := m.staged[e.Object.Key()]; op.Object == e.Object {
			delete(m.staged, op.Key)
		}
	}
}

func (m *model) change() {
	if m.log.Rev() == 0 {
		return
	}
	ops, upto := m.ops(m.log.Rev())
	m.commit(m.log.Snapshot().Plan(ops, upto))
}

func (m *model) bookmark() {
	if m.log.Rev() > 0 {
		m.commit(watchlog.Batch{Rev: m.log.Rev() + m.rand.Uint64N(3)})
	}
}

func (m *model) stageSome() {
	ops, upto := m.ops(max(m.log.Rev(), m.stagedRev))
	for i := range ops {
		if ops[i].Object == nil {
			ops[i].Rev = 0
		}
	}
	if upto == 0 {
		return
	}
	m.stage(upto, ops...)
	m.stagedRev = upto
	for _, op := range ops {
		m.staged[op.Key] = op
	}
}

func (m *model) finish() {
	if m.stagedRev > m.log.Rev() {
		m.commit(m.log.Snapshot().PlanCatchup(load(m.t, m.store).Staged, m.stagedRev))
	}
}

func (m *model) discard() {
	update(m.t, m.store, func(tx *Tx) error { return tx.DiscardStaged(podsGR) })
	m.stagedRev = 0
	clear(m.staged)
}

// heal changes objects at the position that the log has already.
func (m *model) heal() {
	if m.log.Rev() == 0 {
		return
	}
	var ops []watchlog.Op
	for o := range m.log.Snapshot().All("") {
		switch m.rand.IntN(8) {
		case 0:
			ops = append(ops, del(o.Key(), 0))
		case 1:
			ops = append(ops, put(pod(m.t, o.Name(), o.UID(), o.Rev(), m.rand.IntN(1500))))
		}
	}
	m.commit(m.log.Snapshot().PlanCatchup(ops, m.log.Rev()))
}

// again applies a batch that is stored already.
func (m *model) again() {
	if m.last.Rev == m.log.Rev() && m.last.Rev > 0 && (m.stagedRev == 0 || m.stagedRev > m.last.Rev) && m.last.Gap.Empty() {
		apply(m.t, m.store, m.last)
	}
}

func (m *model) fail() {
	ops, upto := m.ops(max(m.log.Rev(), m.stagedRev) + 1)
	err := m.store.Update(func(tx *Tx) error {
		if err := tx.Apply(podsGR, m.log.Snapshot().PlanCatchup(ops, upto)); err != nil {
			return err
		}
		return errGivenUp
	})
	if err != errGivenUp { //nolint:errorlint // it must come back as it is
		m.t.Fatal(err)
	}
}

var errGivenUp = errors.New("given up")

// crash goes on with a copy of the file, as it is after a crash, in another directory.
func (m *model) crash() {
	m.t.Helper()
	dir := m.t.TempDir()
	copyFile(m.t, filepath.Join(m.dir, FileName), filepath.Join(dir, FileName))
	if err := m.store.Close(); err != nil {
		m.t.Fatal(err)
	}
	m.dir, m.store = dir, open(m.t, dir, m.opts)
}

func (m *model) compare() {
	m.t.Helper()
	if err := m.store.Recovered(); err != nil {
		m.t.Fatal(err)
	}
	m.verify()
	c := load(m.t, m.store)
	want := &Content{}
	for _, key := range slices.Sorted(maps.Keys(m.staged)) {
		want.Staged = append(want.Staged, m.staged[key])
	}
	if g, w := staged(c), staged(want); !slices.Equal(g, w) {
		m.t.Fatalf("staged is\n%q, should be\n%q", g, w)
	}
	if got := state(m.t, m.store, podsGR).StagedRev; got != m.stagedRev {
		m.t.Fatalf("staged up to %d, should be %d", got, m.stagedRev)
	}
}
