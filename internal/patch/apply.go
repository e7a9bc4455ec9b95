package patch

import (
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/tombolo-sync/tombolo/internal/workbench"
)

// decoder applies patches, one after the other.
type decoder struct {
	dec  *zstd.Decoder
	base []byte // scratch
}

var decoders = workbench.New(func() *decoder {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(window), zstd.WithDecoderMaxWindow(window), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return &decoder{dec: dec}
})

// Apply returns what a patch makes of base, in dst when that has room for it and else in new memory of just that size. It
// fails with Err unless that is size bytes long; memory is bounded by size, and Max, whatever the patch is. Whether they are
// the right bytes only their checksum can tell.
func Apply(dst []byte, base Text, patch []byte, size int64) ([]byte, error) {
	if size < 0 || size > Max || base.Len() > Max {
		return nil, fmt.Errorf("%w: an object of more than %d bytes", Err, Max)
	}
	if int64(cap(dst)) < size {
		dst = make([]byte, 0, size)
	}
	out := dst[:0:size]
	err := decoders.With(func(d *decoder) (err error) {
		out, err = d.apply(out, base, patch)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case int64(len(out)) != size:
		return nil, fmt.Errorf("%w: it makes %d bytes instead of %d", Err, len(out), size)
	}
	return out, nil
}

func (d *decoder) apply(dst []byte, base Text, patch []byte) ([]byte, error) {
	err := d.dec.ResetWithOptions(nil, zstd.WithDecoderDictDelete(), zstd.WithDecoderDictRaw(0, base.join(&d.base)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", Err, err)
	}
	if dst, err = d.dec.DecodeAll(patch, dst); err != nil {
		return nil, fmt.Errorf("%w: %w", Err, err)
	}
	return dst, nil
}
