package session

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	"github.com/tombolo-sync/tombolo/internal/wirelimit"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

var errDamaged = errors.New("an object has come in damaged")

// errMissed is what is wrong with a patch whose base the edge does not hold, or that makes something else of it.
var errMissed = errors.New("the patch is of another base")

// unpack returns the operations of a batch of r's, out of its frame if it has one.
func (s *session) unpack(r *replica, b *tombolov1.Batch) ([]*tombolov1.Operation, error) {
	operations, err := s.unframe(b)
	if err == nil {
		err = checkRevs(r, b, operations)
	}
	return operations, err
}

func (s *session) unframe(b *tombolov1.Batch) ([]*tombolov1.Operation, error) {
	if len(b.GetFrame()) == 0 {
		return b.GetOperations(), nil
	}
	if !s.agreed.frames || len(b.GetOperations()) > 0 {
		return nil, errors.New("a frame was not agreed on")
	}
	all := &tombolov1.Operations{}
	text, err := delta.AppendText(nil, b.GetFrame(), b.GetFramedSize())
	if err == nil {
		err = wirelimit.Check(all.ProtoReflect().Descriptor(), text)
	}
	if err == nil {
		err = proto.Unmarshal(text, all)
	}
	if err != nil {
		s.c.trust.missed(time.Now(), true) // the session ends in any case
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return all.GetOperations(), nil
}

// decode turns operations into ops, and holds every object against its checksum. It returns the keys of those that are
// patches against something that is not held as well, with the position of each one's first: then none of the ops may be
// used. Without holdings, where it is not known what the edge holds, there may be no patches.
func (s *session) decode(r *replica, operations []*tombolov1.Operation, h *holdings) ([]watchlog.Op, map[string]uint64, error) {
	ops := make([]watchlog.Op, 0, len(operations))
	var missed map[string]uint64
	patches := 0
	for _, o := range operations {
		op, err := s.decodeAny(r, o, h)
		switch {
		case errors.Is(err, errMissed):
			missed = noteMiss(missed, o)
			s.c.log.Debug("patch", "resource", r.gr, "key", o.GetKey(), "rev", o.GetRev(), "base", o.GetBaseRev(), "err", err)
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("%s %q: %w", r.gr, o.GetKey(), err)
		}
		if o.GetEncoding() == tombolov1.Encoding_ENCODING_ZSTD_PATCH {
			patches++
		}
		if h != nil && s.agreed.patches {
			h.over[op.Key] = op.Object
		}
		ops = append(ops, op)
	}
	if missed == nil {
		s.c.trust.applied(patches)
		s.c.metrics.patches.Add(float64(patches))
	}
	s.c.metrics.operations.Add(float64(len(operations)))
	return ops, missed, nil
}

// noteMiss adds a patch that did not apply to those that did not.
func noteMiss(missed map[string]uint64, o *tombolov1.Operation) map[string]uint64 {
	if missed == nil {
		missed = map[string]uint64{}
	}
	if _, ok := missed[o.GetKey()]; !ok {
		missed[o.GetKey()] = o.GetRev()
	}
	return missed
}

// decodeAny is decodeOp for operations that may be patches.
func (s *session) decodeAny(r *replica, o *tombolov1.Operation, h *holdings) (watchlog.Op, error) {
	if o.GetEncoding() != tombolov1.Encoding_ENCODING_ZSTD_PATCH || !s.agreed.patches {
		return decodeOp(r, o)
	}
	if h == nil {
		return watchlog.Op{}, errors.New("a patch where nobody knows what it is against")
	}
	return decodePatch(r, o, h)
}

// decodePatch applies a patch.
func decodePatch(r *replica, o *tombolov1.Operation, h *holdings) (watchlog.Op, error) {
	op := watchlog.Op{Key: o.GetKey(), Rev: o.GetRev()}
	if o.GetType() != tombolov1.OperationType_OPERATION_TYPE_PUT {
		return op, fmt.Errorf("a patch for %s", o.GetType())
	}
	base := h.at(op.Key, o.GetBaseRev())
	if base == nil {
		return op, errMissed
	}
	json, cells, err := delta.Apply(base, o.GetData(),
		delta.Result{JSON: o.GetJsonSize(), Cells: o.GetCellsSize(), Sum: o.GetCrc32C()})
	if err != nil {
		return op, fmt.Errorf("%w: %w", errMissed, err)
	}
	return finishOp(r, op, json, cells)
}

func decodeOp(r *replica, o *tombolov1.Operation) (watchlog.Op, error) {
	op := watchlog.Op{Key: o.GetKey(), Rev: o.GetRev()}
	switch o.GetType() {
	case tombolov1.OperationType_OPERATION_TYPE_DELETE:
		if op.Key == "" {
			return op, errors.New("a deletion without a key")
		}
		return op, nil
	case tombolov1.OperationType_OPERATION_TYPE_PUT:
	default:
		return op, fmt.Errorf("operation type %s is unknown", o.GetType())
	}
	if o.GetEncoding() != tombolov1.Encoding_ENCODING_JSON {
		return op, fmt.Errorf("encoding %s was not agreed on", o.GetEncoding())
	}
	if delta.Checksum(o.GetData(), o.GetCells()) != o.GetCrc32C() {
		return op, errDamaged
	}
	return finishOp(r, op, o.GetData(), o.GetCells())
}

// finishOp gives an op its object, of bytes that are right.
func finishOp(r *replica, op watchlog.Op, json, cells []byte) (watchlog.Op, error) {
	var err error
	if op.Object, err = r.log.Decoder().DecodeRow(json, cells); err != nil {
		return op, err
	}
	if op.Object.Key() != op.Key {
		return op, fmt.Errorf("%w: it is %q", errDamaged, op.Object.Key())
	}
	return op, nil
}
