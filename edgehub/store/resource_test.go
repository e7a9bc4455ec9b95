package store

import (
	"errors"
	"reflect"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func TestDescribeKeepsWhatIsThere(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	want := State{Resource: *pods, Epoch: "e2", Scope: "s2", Rev: 10}
	want.Resource.Fields = append(want.Resource.Fields, watchlog.Field{Label: "status.phase", Path: "status.phase", Default: "-"})
	update(t, e.store, func(tx *Tx) error {
		return tx.Describe(State{Resource: want.Resource, Epoch: "e2", Scope: "s2", Rev: 99, StagedRev: 99})
	})
	e.reopen()
	if got := state(t, e.store, podsGR); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	e.verify()
}

func TestResourcesAreOrderedByName(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	describe(t, s, pods)
	describe(t, s, deployments)
	all, err := s.Resources()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Resource.Name != "deployments" || all[1].Resource.Name != "pods" {
		t.Fatalf("%+v", all)
	}
}

func TestResourcesOfOneNameInTwoGroupsAreApart(t *testing.T) {
	e := newEdge(t, Options{})
	metrics := *pods
	metrics.Group = "metrics.k8s.io"
	describe(t, e.store, &metrics)
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	update(t, e.store, func(tx *Tx) error { return tx.Drop(metrics.GroupResource()) })
	e.verify()
}

func TestDropLeavesNothing(t *testing.T) {
	e := newEdge(t, Options{})
	e.commit(e.log.Snapshot().PlanReplace([]*watchlog.Object{pod(t, "a", "u1", 5, 10)}, 10))
	for range 2 {
		update(t, e.store, func(tx *Tx) error { return tx.Drop(podsGR) })
	}
	if all, err := e.store.Resources(); err != nil || len(all) != 0 {
		t.Fatal(all, err)
	}
	describe(t, e.store, pods)
	if c := load(t, e.store); c.Rev != 0 || len(c.Objects)+len(c.History)+len(c.Staged) != 0 {
		t.Fatalf("%+v", c)
	}
}

func TestDescribeWantsAName(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	if err := s.Update(func(tx *Tx) error { return tx.Describe(State{}) }); err == nil {
		t.Fatal("a resource without a name was taken")
	}
}

func TestUpdateOfSeveralResourcesIsAllOrNothing(t *testing.T) {
	e := newEdge(t, Options{})
	describe(t, e.store, deployments)
	why := errors.New("why not")
	err := e.store.Update(func(tx *Tx) error {
		if err := tx.Apply(podsGR, watchlog.Batch{Rev: 10}); err != nil {
			return err
		}
		if err := tx.Apply(deployments.GroupResource(), watchlog.Batch{Rev: 11}); err != nil {
			return err
		}
		if err := tx.SetInfo("hub", "h1"); err != nil {
			return err
		}
		return why
	})
	if !errors.Is(err, why) {
		t.Fatal(err)
	}
	if v, err := e.store.Info("hub"); v != "" || err != nil {
		t.Fatal(v, err)
	}
	if a, b := state(t, e.store, podsGR).Rev, state(t, e.store, deployments.GroupResource()).Rev; a != 0 || b != 0 {
		t.Fatal(a, b)
	}
}
