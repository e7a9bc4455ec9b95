package delta

import (
	"github.com/tombolo-sync/tombolo/internal/patch"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// The texts of an object's patches are its JSON and then its cells.

// MaxPatched bounds the versions that patches are made between, in bytes of JSON and cells. What is larger is sent whole.
const MaxPatched = patch.Max

// ErrPatch is returned for a patch that does not make of a base what it should: it is damaged, or was made of another
// base, or would make more than it says.
var ErrPatch = patch.Err

// AppendPatch appends to dst a patch that makes o of base. It fails with ErrPatch when one of them is larger than
// MaxPatched.
func AppendPatch(dst []byte, base, o *watchlog.Object) ([]byte, error) {
	return patch.Append(dst, textOf(base), textOf(o))
}

func textOf(o *watchlog.Object) patch.Text { return patch.Text{Head: o.JSON(), Tail: o.Cells()} }
