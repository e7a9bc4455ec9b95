package store

import (
	"errors"
	"slices"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func TestApplyStoresObjectsEventsAndPosition(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10), pod(t, "b", "u2", 7, 10)}, 10))
	e.verify()
	e.live(put(pod(t, "c", "u3", 11, 10)), put(pod(t, "a", "u1", 12, 20)), del("ns/b", 13))
	e.verify()
	e.commit(watchlog.Batch{Rev: 40}) // a bookmark
	e.verify()
	e.reopen()
	e.verify()
	r := e.report()
	if r.Objects != 2 || r.Events != 3 || r.Bodies != 4 || r.Oldest != 10 {
		t.Fatalf("%+v", r)
	}
}

// A restart must not send clients away that resume from before the first event, or from a quiet stretch.
func TestAQuietResourceCanBeWatchedFromItsFirstPositionAfterARestart(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	e.commit(watchlog.Batch{Rev: 500})
	e.reopen()
	e.verify()
	if got := watching(t, e.restored(), 10); len(got) != 0 {
		t.Fatal(got)
	}
}

func TestApplyOfTheFirstStateRecordsNoEvents(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	if c := load(t, e.store); len(c.History) != 0 || c.Floor != 10 || len(c.Gaps) != 0 {
		t.Fatalf("%+v", c)
	}
}

// The same name with a new UID: DELETED and ADDED, at one position.
func TestApplyOfARecreatedObjectKeepsBothEvents(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	e.live(put(pod(t, "a", "u2", 12, 10)))
	e.reopen()
	e.verify()
	c := load(t, e.store)
	if len(c.History) != 2 || c.History[0].Type != watchlog.Deleted || c.History[1].Type != watchlog.Added {
		t.Fatalf("%+v", c.History)
	}
}

func TestLoadSharesObjectsBetweenEventsAndState(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	e.live(put(pod(t, "a", "u1", 11, 10)), put(pod(t, "a", "u1", 12, 10)))
	c := load(t, e.store)
	if c.History[1].Object != c.Objects[0] || c.History[1].Prev != c.History[0].Object {
		t.Fatal("a version was decoded twice")
	}
}

func TestWhatWasLoadedDoesNotReferToTheFile(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	l := e.restored()
	if err := e.store.Close(); err != nil {
		t.Fatal(err)
	}
	if got := listing(l); !slices.Equal(got, listing(e.log)) {
		t.Fatalf("%q", got)
	}
}

func TestApplyRefusesWhatDoesNotFollow(t *testing.T) {
	a5, a12 := pod(t, "a", "u1", 5, 10), pod(t, "a", "u1", 12, 10)
	b11, b13 := pod(t, "b", "u2", 11, 10), pod(t, "b", "u2", 13, 10)
	added := func(o *watchlog.Object) *watchlog.Event {
		return &watchlog.Event{Rev: o.Rev(), Shown: o.Rev(), Type: watchlog.Added, Object: o}
	}
	modified := func(o, prev *watchlog.Object, rev uint64) *watchlog.Event {
		return &watchlog.Event{Rev: rev, Shown: rev, Type: watchlog.Modified, Object: o, Prev: prev}
	}
	for name, b := range map[string]watchlog.Batch{
		"a position below the stored one": {Rev: 9},
		"no position":                     {},
		"events out of order":             {Rev: 20, Events: []*watchlog.Event{added(b13), modified(a12, a5, 12)}},
		"an event above the batch":        {Rev: 12, Events: []*watchlog.Event{added(b13)}},
		"a create of what is there":       {Rev: 12, Events: []*watchlog.Event{added(a12)}},
		"a change of what isn't there":    {Rev: 13, Events: []*watchlog.Event{modified(b13, b11, 13)}},
		"a change of another version":     {Rev: 20, Events: []*watchlog.Event{modified(pod(t, "a", "u1", 20, 1), a12, 20)}},
		"an older version":                {Rev: 20, Events: []*watchlog.Event{modified(pod(t, "a", "u1", 4, 1), a5, 20)}},
		"a delete of what isn't there": {Rev: 20, Events: []*watchlog.Event{
			{Rev: 20, Shown: 20, Type: watchlog.Deleted, Object: b11, Prev: b11}}},
		"a gap from before the position": {Rev: 20, Gap: watchlog.Gap{From: 3, To: 20}},
		"a gap beyond the batch":         {Rev: 20, Gap: watchlog.Gap{From: 10, To: 21}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, Options{})
			e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{a5}, 10))
			err := e.store.Update(func(tx *Tx) error { return tx.Apply(podsGR, b) })
			if !errors.Is(err, ErrOrder) {
				t.Fatalf("got %v", err)
			}
			e.verify() // and nothing of it is there
		})
	}
}

// A hub that did not get the ack sends the batch again.
func TestApplyTwiceIsApplyOnce(t *testing.T) {
	e := newEdge(t, Options{})
	first := e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10), pod(t, "b", "u1", 6, 10)}, 10)
	e.commit(first)
	apply(t, e.store, first)
	e.verify()

	s := e.log.Snapshot()
	exact := s.Plan([]watchlog.Op{put(pod(t, "a", "u2", 12, 10)), put(pod(t, "c", "u3", 13, 10)), del("ns/c", 14)}, 15)
	e.commit(exact)
	apply(t, e.store, exact)
	e.verify()

	catchup := e.log.Snapshot().PlanCatchup([]watchlog.Op{put(pod(t, "d", "u4", 20, 10)), del("ns/b", 0)}, 30)
	e.commit(catchup)
	apply(t, e.store, catchup)
	e.verify()

	late := e.log.Snapshot().PlanCatchup([]watchlog.Op{put(pod(t, "e", "u5", 3, 10)), del("ns/d", 0)}, 30)
	if !late.Events[0].Late {
		t.Fatal("the batch was meant to be late")
	}
	e.commit(late)
	apply(t, e.store, late)
	e.verify()
	if r := e.report(); r.Events != 8 || r.Gaps != 1 {
		t.Fatalf("%+v", r)
	}
}

// A late duplicate of an old version never takes the place of a newer one.
func TestApplyLeavesOutOldVersions(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	old := e.log.Snapshot().Plan([]watchlog.Op{put(pod(t, "a", "u1", 11, 10))}, 11)
	e.commit(old)
	e.live(put(pod(t, "a", "u1", 12, 10)))
	old.Rev = 13
	e.commit(watchlog.Batch{Rev: 13})
	apply(t, e.store, old)
	e.verify()
}

// Healed bytes at the position that is stored already.
func TestApplyTakesLateEvents(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10), pod(t, "b", "u2", 6, 10)}, 10))
	e.commit(e.log.Snapshot().PlanCatchup([]watchlog.Op{put(pod(t, "a", "u1", 5, 11)), del("ns/b", 0)}, 10))
	e.verify()
	e.reopen()
	e.verify()
	if got := watching(t, e.restored(), 10); len(got) != 2 {
		t.Fatalf("a watch from the position before the late events: %q", got)
	}
}

// The position is stored: it does not fall back to the newest object that is left.
func TestThePositionOutlivesTheObjects(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10), pod(t, "b", "u2", 9, 10)}, 10))
	e.live(del("ns/b", 20))
	e.reopen()
	if st := state(t, e.store, podsGR); st.Rev != 20 {
		t.Fatalf("position %d", st.Rev)
	}
	e.verify()
}

func TestApplyToAnUnknownResource(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	err := s.Update(func(tx *Tx) error { return tx.Apply(podsGR, watchlog.Batch{Rev: 1}) })
	if !errors.Is(err, ErrUnknownResource) {
		t.Fatal(err)
	}
	if _, err := s.Load(podsGR, watchlog.NewDecoder(pods)); !errors.Is(err, ErrUnknownResource) {
		t.Fatal(err)
	}
}

// Another epoch: the old state goes and the new one comes, at a lower position, in one step.
func TestAnEpochIsReplacedInOneUpdate(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 50, 10)}, 100))
	e.log, e.full = watchlog.New(pods, e.opts.Window), watchlog.New(pods, watchlog.Config{})
	b := e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "b", "u2", 7, 10)}, 40)
	update(t, e.store, func(tx *Tx) error {
		if err := tx.Drop(podsGR); err != nil {
			return err
		}
		if err := tx.Describe(State{Resource: *pods, Epoch: "e2"}); err != nil {
			return err
		}
		return tx.Apply(podsGR, b)
	})
	e.show(b)
	e.reopen()
	e.verify()
	if st := state(t, e.store, podsGR); st.Epoch != "e2" || st.Rev != 40 {
		t.Fatalf("%+v", st)
	}
}
