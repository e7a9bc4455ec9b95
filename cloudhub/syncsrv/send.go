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

// sendOps sends operations as batches of bounded size, of which the last one has upto, more and gapFrom as given. In an
// exact step the others stand for themselves wherever a position ends; else they are parts of one step.
func (u *subscription) sendOps(ops []*tombolov1.Operation, upto uint64, more bool, gapFrom uint64) error {
	for {
		n := cut(ops)
		b := &tombolov1.Batch{Subscription: u.id, Operations: ops[:n], UptoRev: upto, More: more, GapFrom: gapFrom}
		if n < len(ops) {
			b.UptoRev, b.More = ops[n-1].GetRev(), gapFrom != 0 || more || ops[n].GetRev() == ops[n-1].GetRev()
		}
		if c := u.catchup; c != nil {
			b.Remaining = uint64(len(ops) - n + len(c.objects)) //nolint:gosec // not negative
		}
		if err := u.s.sendAs(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Batch{Batch: b}}, u.phase == live); err != nil {
			return err
		}
		if ops = ops[n:]; len(ops) == 0 {
			return nil
		}
	}
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

// prepare takes note of a batch that is about to be sent, and puts its operations into a frame if that makes it smaller.
func (s *session) prepare(b *tombolov1.Batch) {
	m := s.srv.metrics
	total := 0
	for _, op := range b.GetOperations() {
		total += size(op)
		m.operations.WithLabelValues(op.GetType().String()).Inc()
		if op.GetEncoding() == tombolov1.Encoding_ENCODING_ZSTD_PATCH {
			m.patches.Inc()
		}
	}
	if s.can.frames && pack(b) {
		total = len(b.GetFrame())
	}
	m.bytes.Add(float64(total))
}
