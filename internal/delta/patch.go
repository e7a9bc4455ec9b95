package delta

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// A patch is a zstd frame whose dictionary is the version before: its JSON and then its cells, and whose text is the new
// version's JSON and then its cells. Identifiers of dictionaries are not used.

const (
	// MaxPatched bounds the versions that patches are made between, in bytes of JSON and cells. What is larger is sent
	// whole.
	MaxPatched = 2 << 20
	// patchWindow reaches from the end of the new version back to the beginning of the old one.
	patchWindow = 2 * MaxPatched
	// largePatched is the size of versions from which on the fastest encoder's table is too small to find what is the same.
	largePatched = 192 << 10
	// keptScratch is how much memory for joining JSON and cells a coder keeps.
	keptScratch = 256 << 10
)

// ErrPatch is returned for a patch that does not make of a base what it should: it is damaged, or was made of another
// base, or would make more than it says.
var ErrPatch = errors.New("the patch does not apply")

// patcher makes patches, one after the other.
type patcher struct {
	enc       *zstd.Encoder
	base, src []byte // scratch
}

var (
	patchers      = newBench(func() *patcher { return newPatcher(zstd.SpeedFastest) })
	largePatchers = newBench(func() *patcher { return newPatcher(zstd.SpeedBetterCompression) })
)

func newPatcher(level zstd.EncoderLevel) *patcher {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false), zstd.WithWindowSize(patchWindow))
	if err != nil {
		panic(err) // the options are constants
	}
	return &patcher{enc: enc}
}

// AppendPatch appends to dst a patch that makes o of base. It fails with ErrPatch when one of them is larger than
// MaxPatched.
func AppendPatch(dst []byte, base, o *watchlog.Object) ([]byte, error) {
	if base.Size() > MaxPatched || o.Size() > MaxPatched {
		return dst, fmt.Errorf("%w: an object of more than %d bytes", ErrPatch, MaxPatched)
	}
	bench := patchers
	if base.Size() >= largePatched {
		bench = largePatchers
	}
	err := bench.with(func(p *patcher) (err error) {
		dst, err = p.append(dst, base, o)
		return err
	})
	return dst, err
}

func (p *patcher) append(dst []byte, base, o *watchlog.Object) ([]byte, error) {
	if err := p.enc.ResetWithOptions(nil, zstd.WithEncoderDictRaw(0, join(&p.base, base))); err != nil {
		return dst, fmt.Errorf("%w: %w", ErrPatch, err)
	}
	return p.enc.EncodeAll(join(&p.src, o), dst), nil
}

// join returns an object's JSON and then its cells in one slice, for which it uses scratch if need be.
func join(scratch *[]byte, o *watchlog.Object) []byte {
	if len(o.Cells()) == 0 {
		return o.JSON()
	}
	joined := append(append((*scratch)[:0], o.JSON()...), o.Cells()...)
	if *scratch = joined; cap(joined) > keptScratch {
		*scratch = nil
	}
	return joined
}
