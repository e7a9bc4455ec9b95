package session

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/edgehub/store"
	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// replica is one resource at the edge. It belongs to the goroutine of Client.Run; readers get its log only.
type replica struct {
	gr     schema.GroupResource
	log    *watchlog.Log
	epoch  string // the cluster that the data is of
	view   string // hash of the view that the data is of
	digest delta.Digest
	// foreign is up to where clients may hold positions of another history than the log's.
	foreign uint64

	// pending is the view and cluster that the step under way leads to.
	pending target
	step    step
	live    bool // caught up, in this session
	lost    bool // the hub itself has lost sight of the cloud; see setLive and setLost
	waits   bool // for the hub, in this session, to make another plan
	asked   bool // an inventory was sent, in this session, that was not answered yet
	// inventories counts those in a row, in this session, that led to nothing.
	inventories int
	// sums are what the hub was sent in place of an inventory, until it asks for parts; nil when it was not.
	sums delta.Ranges
	// need is set while the edge waits, in this session, for objects whole: what comes of the replica meanwhile is dropped.
	need *need
	// missed is where, in this session, patches did not apply: the position of the last miss, by key.
	missed map[string]uint64
}

// target is what the data will be of when a step is finished.
type target struct{ epoch, view string }

// step is a run of operations of which nothing may be visible before its end.
type step struct {
	open    bool                   // a catch-up is under way: it ends with a checkpoint
	staged  uint64                 // all changes up to here are staged, durably
	ops     map[string]watchlog.Op // the newest of each key; for a catch-up also on disk
	rewound bool                   // the cloud has gone back: nothing of what was before counts
	exact   []watchlog.Op          // the part of an exact step that has arrived, not on disk; see hold
	// exactBytes is what exact takes.
	exactBytes int
}

// restore returns the replica that the store holds.
func (c *Client) restore(st store.State) (*replica, error) {
	res := st.Resource
	r := &replica{gr: res.GroupResource(), log: watchlog.New(&res, c.cfg.Window), epoch: st.Epoch, view: st.Scope}
	r.foreign = st.Foreign
	r.log.SetForeign(st.Foreign)
	r.pending = target{st.Epoch, st.Scope}
	content, err := c.cfg.Store.Load(r.gr, r.log.Decoder())
	if err != nil {
		return nil, err
	}
	if content.Rev > 0 {
		if err := r.log.Load(content.Content); err != nil {
			return nil, err
		}
	}
	r.log.SetLost(c.lastHeard()) // until a hub has caught it up
	for _, o := range content.Objects {
		r.digest.Add(o)
	}
	r.step = step{staged: st.StagedRev, ops: map[string]watchlog.Op{}}
	for _, op := range content.Staged {
		r.step.ops[op.Key] = op
	}
	return r, nil
}

// setLive notes whether the replica is caught up in this session, and lets its log say when it is not: since the hub was
// last heard of.
func (r *replica) setLive(live bool, heard time.Time) {
	r.live = live
	switch {
	case !live:
		r.log.SetLost(heard)
	case !r.lost:
		r.log.SetFollowing()
	}
}

// setLost notes whether the hub itself has lost sight of the cloud, nil when it has not.
func (r *replica) setLost(loss *tombolov1.Loss) {
	r.lost = loss != nil
	switch {
	case r.lost:
		age := time.Duration(min(loss.GetAgeMs(), maxAge)) * time.Millisecond //nolint:gosec // bounded
		r.log.SetLost(time.Now().Add(-age))
	case r.live:
		r.log.SetFollowing()
	}
}

// maxAge bounds how long ago a hub may say that it lost the cloud: ten years, in milliseconds.
const maxAge = 10 * 365 * 24 * 3600 * 1000

// outcome returns what a finished step makes of the replica at position rev, and the digest of that.
func (r *replica) outcome(rev uint64) (watchlog.Batch, delta.Digest) {
	ops := make([]watchlog.Op, 0, len(r.step.ops))
	for _, op := range r.step.ops {
		ops = append(ops, op)
	}
	b := r.log.Snapshot().PlanCatchup(ops, rev)
	d := r.digest
	d.Apply(b.Events)
	return b, d
}

// holds calls f with every object that the replica would hold if the step ended now.
func (r *replica) holds(f func(*watchlog.Object)) {
	for o := range r.log.Snapshot().All("") {
		if _, ok := r.step.ops[o.Key()]; !ok {
			f(o)
		}
	}
	for _, op := range r.step.ops {
		if op.Object != nil {
			f(op.Object)
		}
	}
}

// state is what the store keeps of the replica beside objects and position.
func (r *replica) state() store.State {
	return store.State{Resource: *r.log.Resource(), Epoch: r.epoch, Scope: r.view, Foreign: r.foreign}
}

func compareResources(a, b schema.GroupResource) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
}
