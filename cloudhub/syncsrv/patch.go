package syncsrv

import (
	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// patchOf returns the operation that takes a holder of e.Prev over e by a patch, nil when that would not save much. It is
// made once for each event, by the first session that needs it, shared by all, and goes with the event. It must not be
// changed.
func patchOf(e *watchlog.Event) *tombolov1.Operation {
	op, _ := e.Memo(makePatch).(*tombolov1.Operation)
	return op
}

// makePatch makes the operation for patchOf. What it keeps is at most half of what the event keeps alive in any case.
func makePatch(e *watchlog.Event) any {
	o, base := e.Object, e.Prev
	data, err := delta.AppendPatch(nil, base, o)
	if err != nil || len(data) > min(o.Size(), base.Size())/2 {
		return nil
	}
	return &tombolov1.Operation{
		Key: o.Key(), Type: tombolov1.OperationType_OPERATION_TYPE_PUT, Rev: e.Rev,
		Encoding: tombolov1.Encoding_ENCODING_ZSTD_PATCH, BaseRev: base.Rev(), Crc32C: delta.ChecksumOf(o), Data: data,
		JsonSize: uint32(len(o.JSON())), CellsSize: uint32(len(o.Cells())), //nolint:gosec // at most delta.MaxPatched
	}
}
