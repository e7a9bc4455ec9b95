package delta

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/tombolo-sync/tombolo/internal/workbench"
)

// MaxFramed bounds what a frame holds, in bytes.
const MaxFramed = 16 << 20

// frameWindow is how far back in a frame what repeats is found.
const frameWindow = 1 << 20

// ErrFrame is returned for a frame that is damaged, or holds other than it should.
var ErrFrame = errors.New("malformed frame")

var framers = workbench.New(func() *zstd.Encoder {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(true), zstd.WithWindowSize(frameWindow))
	if err != nil {
		panic(err) // the options are constants
	}
	return enc
})

var openers = workbench.New(func() *zstd.Decoder {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(MaxFramed), zstd.WithDecoderMaxWindow(frameWindow), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return dec
})

// AppendFrame appends a zstd frame of text to dst.
func AppendFrame(dst, text []byte) []byte {
	_ = framers.With(func(enc *zstd.Encoder) error {
		dst = enc.EncodeAll(text, dst)
		return nil
	})
	return dst
}

// AppendText appends the text of a frame to dst, which grows by size. It fails with ErrFrame unless the frame holds just
// so many bytes, and at most MaxFramed; it never takes more memory than that.
func AppendText(dst, frame []byte, size uint32) ([]byte, error) {
	if size > MaxFramed {
		return dst, fmt.Errorf("%w: it is to hold %d bytes", ErrFrame, size)
	}
	begin := len(dst)
	out := append(dst, make([]byte, size)...)[: begin : begin+int(size)]
	err := openers.With(func(dec *zstd.Decoder) (err error) {
		out, err = dec.DecodeAll(frame, out)
		return err
	})
	switch {
	case err != nil:
		return dst, fmt.Errorf("%w: %w", ErrFrame, err)
	case len(out)-begin != int(size):
		return dst, fmt.Errorf("%w: it holds %d bytes instead of %d", ErrFrame, len(out)-begin, size)
	}
	return out, nil
}
