package delta

import (
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Result is what a patch is to make: the sizes of a version's JSON and cells, and the Checksum of both.
type Result struct {
	JSON, Cells uint32
	Sum         uint32
}

// applier applies patches, one after the other.
type applier struct {
	dec  *zstd.Decoder
	base []byte // scratch
}

var appliers = newBench(func() *applier {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(patchWindow), zstd.WithDecoderMaxWindow(patchWindow), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return &applier{dec: dec}
})

// Apply returns what a patch makes of base, in new memory of just that size. It fails with ErrPatch unless that is exactly
// what want says, so that a wrong base is always noticed; memory is bounded by want, and MaxPatched, whatever the patch is.
func Apply(base *watchlog.Object, patch []byte, want Result) (json, cells []byte, err error) {
	size := int64(want.JSON) + int64(want.Cells)
	if size > MaxPatched || base.Size() > MaxPatched {
		return nil, nil, fmt.Errorf("%w: an object of more than %d bytes", ErrPatch, MaxPatched)
	}
	out := make([]byte, 0, size)
	err = appliers.with(func(a *applier) (err error) {
		out, err = a.apply(out, base, patch)
		return err
	})
	switch {
	case err != nil:
		return nil, nil, err
	case int64(len(out)) != size:
		return nil, nil, fmt.Errorf("%w: it makes %d bytes instead of %d", ErrPatch, len(out), size)
	case Checksum(out) != want.Sum:
		return nil, nil, fmt.Errorf("%w: the checksum is another", ErrPatch)
	}
	return out[:want.JSON:want.JSON], out[want.JSON:], nil
}

func (a *applier) apply(dst []byte, base *watchlog.Object, patch []byte) ([]byte, error) {
	err := a.dec.ResetWithOptions(nil, zstd.WithDecoderDictDelete(), zstd.WithDecoderDictRaw(0, join(&a.base, base)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPatch, err)
	}
	if dst, err = a.dec.DecodeAll(patch, dst); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPatch, err)
	}
	return dst, nil
}
