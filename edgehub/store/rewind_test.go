package store

import (
	"errors"
	"slices"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// TestRewindGoesBack: older versions take the place of newer ones, the window is gone, what is the same stays as it lies,
// and the resource goes on from there.
func TestRewindGoesBack(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{
		pod(t, "a", "u1", 5, 10), pod(t, "b", "u2", 6, 10), pod(t, "c", "u3", 7, 10),
	}, 10))
	e.commit(e.log.Snapshot().Plan([]watchlog.Op{
		put(pod(t, "a", "u1", 15, 20)), del("ns/b", 16), put(pod(t, "lost", "u4", 17, 10)),
	}, 20))
	older, back := pod(t, "a", "u1", 5, 10), pod(t, "b", "u2", 6, 10)
	e.stage(20, put(older))
	update(t, e.store, func(tx *Tx) error {
		return tx.Rewind(podsGR, []watchlog.Op{put(older), put(back), del("ns/lost", 0), del("ns/never", 0)}, 12)
	})
	check := func(rev uint64, want ...string) {
		t.Helper()
		c := load(t, e.store)
		var got []string
		for _, o := range c.Objects {
			got = append(got, o.Key())
		}
		if !slices.Equal(got, want) || c.Rev != rev || c.Floor != 12 || len(c.Gaps) != 0 || len(c.Staged) != 0 {
			t.Fatalf("%q at %d from %d, %d gaps, %d staged", got, c.Rev, c.Floor, len(c.Gaps), len(c.Staged))
		}
	}
	check(12, "ns/a", "ns/b", "ns/c")
	if r := e.report(); r.Bodies != 3 || r.Events != 0 || r.WindowBytes != 0 {
		t.Fatalf("%+v", r)
	}
	l := watchlog.New(pods, watchlog.Config{})
	if err := l.Load(load(t, e.store).Content); err != nil {
		t.Fatal(err)
	}
	apply(t, e.store, l.Snapshot().Plan([]watchlog.Op{put(pod(t, "d", "u5", 13, 10))}, 14))
	check(14, "ns/a", "ns/b", "ns/c", "ns/d")
}

func TestRewindNeedsAState(t *testing.T) {
	e := newEdge(t, Options{})
	for _, rev := range []uint64{0, 5} {
		err := e.store.Update(func(tx *Tx) error { return tx.Rewind(podsGR, nil, rev) })
		if !errors.Is(err, ErrOrder) {
			t.Errorf("to %d: %v", rev, err)
		}
	}
}
