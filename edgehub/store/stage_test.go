package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func (e *edge) stage(upto uint64, ops ...watchlog.Op) {
	e.t.Helper()
	update(e.t, e.store, func(tx *Tx) error { return tx.Stage(podsGR, ops, upto) })
}

// staged returns what is staged as "key@rev size".
func staged(c *Content) []string {
	var out []string
	for _, op := range c.Staged {
		size := 0
		if op.Object != nil {
			size = op.Object.Size()
		}
		out = append(out, fmt.Sprintf("%s@%d %d", op.Key, op.Rev, size))
	}
	return out
}

func TestStagedIsInvisibleUntilApplied(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10), pod(t, "b", "u2", 6, 10)}, 10))
	e.stage(20, put(pod(t, "a", "u1", 15, 10)), del("ns/b", 0))
	e.stage(30, put(pod(t, "c", "u3", 25, 10)))
	e.reopen()
	e.verify()
	c := load(t, e.store)
	if len(c.Staged) != 3 || state(t, e.store, podsGR).StagedRev != 30 {
		t.Fatalf("%q", staged(c))
	}
	e.commit(e.log.Snapshot().PlanCatchup(c.Staged, 30))
	e.verify()
	if r := e.report(); r.Staged != 0 || r.StagedRev != 0 || r.Objects != 2 || r.Bodies != 4 || r.Gaps != 1 {
		t.Fatalf("%+v", r)
	}
}

func TestApplyPromotesStagedBodiesWithoutWritingThem(t *testing.T) {
	e := newEdge(t, Options{})
	var ops []watchlog.Op
	for i := range 200 {
		ops = append(ops, put(pod(t, fmt.Sprintf("p%03d", i), "u", uint64(i+1), 5000)))
	}
	e.stage(500, ops...)
	before := e.report()
	b := e.log.Snapshot().PlanCatchup(load(t, e.store).Staged, 500)
	var written int
	update(t, e.store, func(tx *Tx) error {
		seq := tx.tx.Bucket(bucketResources).Bucket([]byte("pods")).Bucket(bucketBodies).Sequence
		id := seq()
		if err := tx.Apply(podsGR, b); err != nil {
			return err
		}
		written = int(seq() - id)
		return nil
	})
	e.show(b)
	e.verify()
	if after := e.report(); written != 0 || after.Bodies != before.Bodies || after.Objects != 200 {
		t.Fatalf("%d bodies were written, %+v", written, after)
	}
}

// Staged for an older plan, or changed since: the batch counts.
func TestApplyWritesWhatIsNotWhatWasStaged(t *testing.T) {
	e := newEdge(t, Options{})
	e.stage(20, put(pod(t, "a", "u1", 15, 10)), put(pod(t, "b", "u1", 16, 10)), put(pod(t, "c", "u1", 17, 10)), del("ns/d", 0))
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{
		pod(t, "a", "u1", 15, 11), pod(t, "b", "u1", 18, 10), pod(t, "d", "u1", 19, 10)}, 20))
	e.verify()
	if r := e.report(); r.Bodies != 3 || r.Staged != 0 {
		t.Fatalf("%+v", r)
	}
}

// An exact batch below the staged position takes its objects out of staged and leaves the rest.
func TestAnExactBatchLeavesTheRestStaged(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	b15, c30 := pod(t, "b", "u2", 15, 10), pod(t, "c", "u3", 30, 10)
	e.stage(40, put(b15), put(c30))
	e.live(put(b15))
	if c := load(t, e.store); len(c.Staged) != 1 || c.Staged[0].Key != "ns/c" {
		t.Fatalf("%q", staged(c))
	}
	if r := e.report(); r.Bodies != 3 || r.StagedRev != 40 {
		t.Fatalf("%+v", r)
	}
	e.commit(watchlog.Batch{Rev: 40}) // reaches what was staged: that is of no use any more
	if r := e.report(); r.Bodies != 2 || r.StagedRev != 0 {
		t.Fatalf("%+v", r)
	}
}

func TestStageKeepsTheNewestOfEachKey(t *testing.T) {
	a10, a12 := put(pod(t, "a", "u1", 10, 10)), put(pod(t, "a", "u1", 12, 20))
	for _, c := range []struct {
		name string
		ops  []watchlog.Op
		want string
	}{
		{"newer", []watchlog.Op{a10, a12}, fmt.Sprintf("[ns/a@12 %d]", a12.Object.Size())},
		{"older", []watchlog.Op{a12, a10}, fmt.Sprintf("[ns/a@12 %d]", a12.Object.Size())},
		{"again", []watchlog.Op{a12, a12}, fmt.Sprintf("[ns/a@12 %d]", a12.Object.Size())},
		{"the same revision in other bytes", []watchlog.Op{a12, put(pod(t, "a", "u1", 12, 30))},
			fmt.Sprintf("[ns/a@12 %d]", a12.Object.Size()+10)},
		{"a deletion of unknown revision", []watchlog.Op{a12, del("ns/a", 0)}, "[ns/a@0 0]"},
		{"a newer deletion", []watchlog.Op{a12, del("ns/a", 13)}, "[ns/a@13 0]"},
		{"an older deletion", []watchlog.Op{a12, del("ns/a", 11)}, fmt.Sprintf("[ns/a@12 %d]", a12.Object.Size())},
		{"a deletion again", []watchlog.Op{del("ns/a", 13), del("ns/a", 13)}, "[ns/a@13 0]"},
		{"back after a deletion", []watchlog.Op{del("ns/a", 0), a12}, fmt.Sprintf("[ns/a@12 %d]", a12.Object.Size())},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEdge(t, Options{})
			for _, op := range c.ops {
				e.stage(20, op)
			}
			if got := fmt.Sprint(staged(load(t, e.store))); got != c.want {
				t.Fatalf("got %s, want %s", got, c.want)
			}
			if r := e.report(); r.Bodies > 1 {
				t.Fatalf("%+v", r)
			}
		})
	}
}

func TestStageRefusesWhatDoesNotFollow(t *testing.T) {
	a := pod(t, "a", "u1", 15, 10)
	for name, stage := range map[string]func(tx *Tx) error{
		"no position":              func(tx *Tx) error { return tx.Stage(podsGR, nil, 0) },
		"below the position":       func(tx *Tx) error { return tx.Stage(podsGR, nil, 9) },
		"below what is staged":     func(tx *Tx) error { return tx.Stage(podsGR, nil, 19) },
		"another object in the op": func(tx *Tx) error { return tx.Stage(podsGR, []watchlog.Op{{Key: "x", Rev: 15, Object: a}}, 30) },
		"another revision in op":   func(tx *Tx) error { return tx.Stage(podsGR, []watchlog.Op{{Key: "ns/a", Rev: 1, Object: a}}, 30) },
		"an op without a key":      func(tx *Tx) error { return tx.Stage(podsGR, []watchlog.Op{{}}, 30) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, Options{})
			e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
			e.stage(20)
			if err := e.store.Update(stage); !errors.Is(err, ErrOrder) {
				t.Fatal(err)
			}
			if st := state(t, e.store, podsGR); st.StagedRev != 20 {
				t.Fatalf("%+v", st)
			}
		})
	}
}

func TestDiscardStagedFreesEverything(t *testing.T) {
	e := newEdge(t, Options{})
	e.stage(20, put(pod(t, "a", "u1", 15, 10)), del("ns/b", 0))
	for range 2 {
		update(t, e.store, func(tx *Tx) error { return tx.DiscardStaged(podsGR) })
	}
	if r := e.report(); r.Bodies != 0 || r.Staged != 0 || r.StagedRev != 0 {
		t.Fatalf("%+v", r)
	}
	e.verify()
}
