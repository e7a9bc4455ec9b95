package syncsrv

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

func (s *session) unsubscribe(gr schema.GroupResource, reason string) error {
	s.log.Info("resource withdrawn from the edge", "resource", gr, "reason", reason)
	return s.send(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Unsubscription{
		Unsubscription: &tombolov1.Unsubscription{
			Resource: &tombolov1.Resource{Group: gr.Group, Resource: gr.Resource}, Reason: reason,
		},
	}})
}

// announce tells the edge what the resource is and how it will be brought up to date.
func (u *subscription) announce(plan tombolov1.Plan, reason string) error {
	u.s.srv.metrics.plans.WithLabelValues(plan.String()).Inc()
	if u.rewound && plan == tombolov1.Plan_PLAN_RECONCILE {
		u.s.srv.metrics.rewinds.Inc()
	}
	m := &tombolov1.Subscription{
		Resource: &tombolov1.Resource{Group: u.gr.Group, Resource: u.gr.Resource}, Id: u.id, Plan: plan, Reason: reason,
		Unavailable: u.phase == failed,
	}
	if plan == tombolov1.Plan_PLAN_RESUME {
		m.FromRev = u.have.rev
	}
	if plan != tombolov1.Plan_PLAN_WAIT {
		m.Info, m.View = describe(u.log.Resource()), u.view.Hash()
		m.Rewound = u.rewound && plan == tombolov1.Plan_PLAN_RECONCILE
		u.s.log.Info("resource", "resource", u.gr, "plan", plan, "from", u.have.rev, "staged", u.have.staged,
			"hub", u.log.Rev(), "rewound", m.Rewound)
	}
	return u.s.send(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Subscription{Subscription: m}})
}

func describe(r *watchlog.Resource) *tombolov1.ResourceInfo {
	info := &tombolov1.ResourceInfo{
		Version: r.Version, Kind: r.Kind, ListKind: r.ListKind, Namespaced: r.Namespaced, Custom: r.Custom,
		Columns: []byte(r.Columns), Deprecated: r.Deprecated,
	}
	for _, f := range r.Fields {
		info.Fields = append(info.Fields, &tombolov1.Field{Label: f.Label, Path: f.Path, Default: f.Default, Indexed: f.Indexed})
	}
	return info
}

// put is the operation that gives the edge an object whole.
func put(o *watchlog.Object, rev uint64) *tombolov1.Operation {
	return &tombolov1.Operation{
		Key: o.Key(), Type: tombolov1.OperationType_OPERATION_TYPE_PUT, Rev: rev,
		Encoding: tombolov1.Encoding_ENCODING_JSON, Crc32C: delta.ChecksumOf(o), Data: o.JSON(), Cells: o.Cells(),
	}
}

// remove is the operation that takes an object from the edge; rev 0 when nobody knows its position.
func remove(key string, rev uint64) *tombolov1.Operation {
	return &tombolov1.Operation{Key: key, Type: tombolov1.OperationType_OPERATION_TYPE_DELETE, Rev: rev}
}

// sendRun sends a run as batches, of which the last one has upto, more and gapFrom of end. In an exact step the others
// stand for themselves wherever a position ends; else they are parts of one step.
func (u *subscription) sendRun(r *run, end batch) error {
	end.subscription, end.live = u.id, u.phase == live
	for i := range r.pieces {
		b := end
		b.piece = &r.pieces[i]
		if i < len(r.pieces)-1 {
			b.upto, b.more = b.piece.upto, b.piece.torn || end.more || end.gapFrom != 0
		}
		if err := u.s.sendBatch(b); err != nil {
			return err
		}
	}
	if len(r.pieces) == 0 {
		return u.s.sendBatch(end)
	}
	return nil
}

// cut returns how many operations make up the next batch: at least one if any.
func cut(ops []*tombolov1.Operation) (n int) {
	for total := 0; n < len(ops) && (n == 0 || total+size(ops[n]) <= batchBytes); n++ {
		total += size(ops[n])
	}
	return n
}

// size returns the number of bytes of the object in an operation.
func size(op *tombolov1.Operation) int { return len(op.GetData()) + len(op.GetCells()) }
