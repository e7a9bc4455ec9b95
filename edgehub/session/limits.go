package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that ours goes on to
	"google.golang.org/grpc/mem"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
	"github.com/tombolo-sync/tombolo/internal/wirelimit"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// A hub is believed in what it says about the cloud, and in little else: a broken one must cost the edge no more than a
// session.
const (
	// maxBeat bounds how seldom a hub may say that it is there: its silence is noticed after three times as long.
	maxBeat = time.Minute
	// maxResources is how many resources an edge may hold.
	maxResources = 10_000
	// maxStepBytes bounds what is held in memory of an exact step that is not complete: it has one position, which a
	// few objects have, or deletions by the thousand.
	maxStepBytes = 64 << 20
	// opOverhead is what an operation takes beside its key and object.
	opOverhead = 128
	// maxInventories is how many times in a row, in a session, the outcome of a catch-up may be another than the hub says.
	// A hub gives up after four.
	maxInventories = 8
	// maxRev is the greatest revision: etcd counts in int64.
	maxRev = math.MaxInt64
	// maxName bounds the name of a resource and of its group, in bytes, as Kubernetes does.
	maxName = 253
)

// errLimit is what a hub has gone beyond.
var errLimit = errors.New("the hub goes beyond a limit")

// codec is gRPC's for protobuf, which takes no message from a hub that has too many fields.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Unmarshal decodes a message.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*tombolov1.SyncResponse)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	if err := wirelimit.Check(m.ProtoReflect().Descriptor(), buf.ReadOnlyData()); err != nil {
		return fmt.Errorf("%w: %w", errLimit, err)
	}
	return c.CodecV2.Unmarshal(mem.BufferSlice{buf}, v)
}

// checkRev fails for what is no revision.
func checkRev(r *replica, revs ...uint64) error {
	for _, rev := range revs {
		if rev > maxRev {
			return fmt.Errorf("%w: %s: %d is no revision", errLimit, r.gr, rev)
		}
	}
	return nil
}

// checkRevs fails for a batch with what is no revision.
func checkRevs(r *replica, b *tombolov1.Batch, operations []*tombolov1.Operation) error {
	if err := checkRev(r, b.GetUptoRev(), b.GetGapFrom()); err != nil {
		return err
	}
	for _, o := range operations {
		if err := checkRev(r, o.GetRev()); err != nil {
			return err
		}
	}
	return nil
}

// hold adds operations to an exact step that is not complete.
func (st *step) hold(ops []watchlog.Op) error {
	for _, op := range ops {
		st.exactBytes += opOverhead + len(op.Key)
		if op.Object != nil {
			st.exactBytes += op.Object.Size()
		}
	}
	if st.exactBytes > maxStepBytes {
		return fmt.Errorf("%w: an exact step of more than %d MiB", errLimit, maxStepBytes>>20)
	}
	st.exact = append(st.exact, ops...)
	return nil
}

// release returns the operations that are held of an exact step, which is complete or given up.
func (st *step) release() []watchlog.Op {
	ops := st.exact
	st.exact, st.exactBytes = nil, 0
	return ops
}

// admit fails for a subscription to what can't be a resource, or under the number of another one.
func (s *session) admit(gr schema.GroupResource, m *tombolov1.Subscription) error {
	if gr.Resource == "" || len(gr.Resource) > maxName || len(gr.Group) > maxName || strings.ContainsAny(gr.Resource, "./") {
		return fmt.Errorf("%.300q can't be a resource", gr.String())
	}
	if other := s.ids[m.GetId()]; other != nil && other.gr != gr {
		return fmt.Errorf("%s: the hub gives it number %d, which is that of %s", gr, m.GetId(), other.gr)
	}
	if columns := m.GetInfo().GetColumns(); len(columns) > 0 && !isArray(columns) {
		return fmt.Errorf("%s: its columns are no JSON array", gr)
	}
	r := s.c.replicas[gr]
	switch {
	case r == nil && len(s.c.replicas) >= maxResources:
		return fmt.Errorf("%w: more than %d resources", errLimit, maxResources)
	case m.GetPlan() == tombolov1.Plan_PLAN_RESUME && (r == nil || !r.log.IsReady()):
		return fmt.Errorf("%s: the hub resumes it, but the edge has no state", gr)
	case m.GetPlan() == tombolov1.Plan_PLAN_RESUME && r.view != m.GetView():
		return fmt.Errorf("%s: the hub resumes it, but the edge has another view", gr)
	}
	return nil
}

func isArray(text []byte) bool {
	var elements []json.RawMessage
	return utf8.Valid(text) && json.Unmarshal(text, &elements) == nil
}
