package delta

import (
	"fmt"

	"github.com/tombolo-sync/tombolo/internal/patch"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Result is what a patch is to make: the sizes of a version's JSON and cells, and the Checksum of both.
type Result struct {
	JSON, Cells uint32
	Sum         uint32
}

// Apply returns what a patch makes of base, in new memory of just that size. It fails with ErrPatch unless that is exactly
// what want says, so that a wrong base is always noticed; memory is bounded by want, and MaxPatched, whatever the patch is.
func Apply(base *watchlog.Object, data []byte, want Result) (json, cells []byte, err error) {
	out, err := patch.Apply(nil, textOf(base), data, int64(want.JSON)+int64(want.Cells))
	if err != nil {
		return nil, nil, err
	}
	if Checksum(out) != want.Sum {
		return nil, nil, fmt.Errorf("%w: the checksum is another", ErrPatch)
	}
	return out[:want.JSON:want.JSON], out[want.JSON:], nil
}
