package session

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/edgehub/store"
	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// subscription takes note of how the hub is going to bring a resource up to date.
func (s *session) subscription(m *tombolov1.Subscription) error {
	gr := groupResource(m.GetResource())
	s.c.metrics.plans.WithLabelValues(m.GetPlan().String()).Inc()
	if m.GetPlan() == tombolov1.Plan_PLAN_WAIT {
		s.c.log.Info("the hub has to wait", "resource", gr, "reason", m.GetReason())
		if r := s.c.replicas[gr]; r != nil {
			r.setLive(false, s.c.lastHeard())
			r.waits = true
			r.need.pause()
		}
		if m.GetUnavailable() {
			s.c.settle(gr)
			s.c.wishes.Late(gr)
		}
		return nil
	}
	if err := s.admit(gr, m); err != nil {
		return err
	}
	if r := s.c.replicas[gr]; r != nil && r.pending.view != m.GetView() {
		r.inventories = 0 // of something else they have not disagreed yet
	}
	r, err := s.prepare(gr, m)
	if err != nil {
		return fmt.Errorf("%s: %w", gr, err)
	}
	s.c.log.Info("resource", "resource", gr, "plan", m.GetPlan(), "from", r.log.Rev(), "staged", r.step.staged)
	if !r.log.IsReady() && r.step.staged == 0 {
		s.c.metrics.fetches.Inc()
	}
	if old := s.numbers[r]; old != m.GetId() {
		r.asked = false // an inventory under the old number is not answered any more
		delete(s.ids, old)
	}
	s.ids[m.GetId()], s.numbers[r] = r, m.GetId()
	r.step.release()
	r.waits = false
	s.c.loaded(gr)
	switch m.GetPlan() {
	case tombolov1.Plan_PLAN_RESUME:
		r.setLive(false, s.c.lastHeard()) // until a checkpoint agrees
		r.step.open = false
		if s.agreed.patches && m.GetFromRev() > r.log.Rev() {
			return s.sendNeed(r, r.log.Rev())
		}
		r.need = nil
		return s.discardStaged(r)
	case tombolov1.Plan_PLAN_CHANGES:
		r.setLive(false, s.c.lastHeard())
		r.step.open, r.need = true, nil
		return nil
	case tombolov1.Plan_PLAN_RECONCILE:
		r.setLive(false, s.c.lastHeard())
		if m.GetRewound() {
			if err := s.beginRewind(r); err != nil {
				return err
			}
		}
		r.step.open, r.need = true, nil
		if r.asked {
			return nil
		}
		return s.sendInventory(r, 0, "")
	default:
		return fmt.Errorf("%s: the hub has a plan %s, which this version does not know", gr, m.GetPlan())
	}
}

// prepare returns the replica of a subscription, made or adapted to what the hub says that the resource is.
func (s *session) prepare(gr schema.GroupResource, m *tombolov1.Subscription) (*replica, error) {
	res := resourceOf(gr, m.GetInfo())
	r := s.c.replicas[gr]
	if r != nil && reflect.DeepEqual(r.log.Resource(), res) {
		r.pending = target{s.epoch, m.GetView()}
		return r, nil
	}
	st := store.State{Resource: *res, Epoch: s.epoch, Scope: m.GetView(), Foreign: s.c.foreign[gr]}
	if r != nil {
		s.c.log.Info("resource redefined", "resource", gr)
		st.Epoch, st.Scope, st.Foreign = r.epoch, r.view, r.foreign
		if m.GetView() != r.view {
			// The description that belongs to what is held is gone: no hub is to resume it, even one to which the resource is
			// again what it was.
			st.Scope = ""
		}
	}
	if err := s.c.cfg.Store.Update(func(tx *store.Tx) error { return tx.Describe(st) }); err != nil {
		return nil, err
	}
	fresh, err := s.reload(gr)
	if err != nil {
		return nil, err
	}
	fresh.pending = target{s.epoch, m.GetView()}
	if r != nil {
		s.numbers[fresh] = s.numbers[r]
		delete(s.numbers, r)
	}
	s.c.register(fresh)
	if r != nil {
		r.log.Close(nil) // its watches go on with the new log
	}
	return fresh, nil
}

// diverged goes on from the store after a log has refused what is stored already. It can't happen, unless log and store
// disagree about what follows; if it does, what is on disk counts.
func (s *session) diverged(r *replica, cause error) error {
	s.c.log.Error("a log refuses what is stored, it is loaded again", "resource", r.gr, "err", cause)
	fresh, err := s.reload(r.gr)
	if err != nil {
		return fmt.Errorf("%s: %w, and %w", r.gr, cause, err)
	}
	s.c.register(fresh)
	r.log.Close(nil)
	return fmt.Errorf("%s: %w", r.gr, cause)
}

// reload restores a resource from the store.
func (s *session) reload(gr schema.GroupResource) (*replica, error) {
	states, err := s.c.cfg.Store.Resources()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(states, func(st store.State) bool { return st.Resource.GroupResource() == gr })
	if i < 0 {
		return nil, fmt.Errorf("%w: %s", store.ErrUnknownResource, gr)
	}
	return s.c.restore(states[i])
}

func resourceOf(gr schema.GroupResource, info *tombolov1.ResourceInfo) *watchlog.Resource {
	res := &watchlog.Resource{
		Group: gr.Group, Version: info.GetVersion(), Name: gr.Resource, Kind: info.GetKind(), ListKind: info.GetListKind(),
		Namespaced: info.GetNamespaced(), Custom: info.GetCustom(), Columns: string(info.GetColumns()),
		Deprecated: info.GetDeprecated(),
	}
	for _, f := range info.GetFields() {
		res.Fields = append(res.Fields, watchlog.Field{
			Label: f.GetLabel(), Path: f.GetPath(), Default: f.GetDefault(), Indexed: f.GetIndexed(),
		})
	}
	return res
}

// discardStaged gives up a catch-up that turned out to be needless: the hub can tell every event.
func (s *session) discardStaged(r *replica) error {
	if r.step.staged == 0 && len(r.step.ops) == 0 {
		return nil
	}
	if err := s.c.cfg.Store.Update(func(tx *store.Tx) error { return tx.DiscardStaged(r.gr) }); err != nil {
		return err
	}
	r.step = step{ops: map[string]watchlog.Op{}}
	return nil
}

// checkpoint ends a catch-up, or compares what the edge holds with what it should.
func (s *session) checkpoint(m *tombolov1.Checkpoint) error {
	r, err := s.replica(m.GetSubscription())
	if err != nil {
		return err
	}
	want, err := delta.Parse(m.GetCount(), m.GetDigest())
	if err != nil {
		return fmt.Errorf("%s: checkpoint: %w", r.gr, err)
	}
	if err := checkRev(r, m.GetRev()); err != nil {
		return err
	}
	r.setLost(m.GetLost())
	if r.step.open {
		return s.finish(r, m.GetRev(), want)
	}
	if r.asked || r.need != nil {
		return nil
	}
	if r.digest == want {
		r.inventories = 0
		r.setLive(true, time.Time{})
		s.progressed = true
		return nil
	}
	s.c.metrics.mismatches.Inc()
	s.c.log.Warn("hub and edge disagree", "resource", r.gr, "rev", m.GetRev(), "hub", want.Count, "edge", r.digest.Count)
	return s.sendInventory(r, want.Apart(r.digest), fmt.Sprintf("at %d the hub holds %d objects, the edge %d", m.GetRev(), want.Count, r.digest.Count))
}

// finish ends a catch-up if its outcome is what the hub holds.
func (s *session) finish(r *replica, rev uint64, want delta.Digest) error {
	if r.goesBack(rev) {
		return s.finishRewind(r, rev, want)
	}
	batch, got := r.outcome(rev)
	if got != want {
		// Usual after a hub restart: what was deleted meanwhile is what the changes could not tell.
		s.c.log.Info("asking for what differs", "resource", r.gr, "rev", rev, "hub", want.Count, "edge", got.Count)
		return s.sendInventory(r, want.Apart(got), "")
	}
	if !r.log.IsReady() {
		r.setLive(true, time.Time{}) // whoever waits for the first state must not find that it may be behind
	}
	if err := s.adopt(r, batch); err != nil {
		return err
	}
	r.setLive(true, time.Time{})
	r.asked, r.inventories = false, 0
	s.c.log.Info("resource synced", "resource", r.gr, "rev", r.log.Rev(), "objects", r.digest.Count, "changes", len(batch.Events))
	s.acks.note(s.numbers[r], r.log.Rev())
	s.acks.due = true
	return nil
}

// adopt makes the outcome of a step durable, then visible.
func (s *session) adopt(r *replica, batch watchlog.Batch) error {
	r.epoch, r.view = r.pending.epoch, r.pending.view
	err := s.c.cfg.Store.Update(func(tx *store.Tx) error {
		if err := tx.Describe(r.state()); err != nil {
			return err
		}
		if err := tx.Apply(r.gr, batch); err != nil {
			return err
		}
		return tx.DiscardStaged(r.gr)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", r.gr, err)
	}
	if err := r.log.Commit(batch); err != nil {
		return s.diverged(r, err)
	}
	r.digest.Apply(batch.Events)
	r.step = step{ops: map[string]watchlog.Op{}}
	s.progressed = true
	s.c.settle(r.gr)
	s.c.loaded(r.gr)
	s.c.wishes.Settle(r.gr)
	return nil
}

// finishGapped ends a live step whose events the hub does not know one by one. There is no checkpoint to wait for.
func (s *session) finishGapped(b *tombolov1.Batch) error {
	r, err := s.replica(b.GetSubscription())
	if err != nil {
		return err
	}
	operations, err := s.unpack(r, b)
	if err != nil {
		return fmt.Errorf("%s: %w", r.gr, err)
	}
	s.acks.owed, s.acks.due = true, s.acks.due || b.GetPrompt()
	if r.need != nil {
		return nil
	}
	ops, _, err := s.decode(r, operations, nil)
	if err != nil {
		return err
	}
	r.step.add(ops)
	batch, _ := r.outcome(b.GetUptoRev())
	if err := s.adopt(r, batch); err != nil {
		return err
	}
	s.acks.note(s.numbers[r], r.log.Rev())
	return nil
}
