package apidoc

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// window is how far back a frame refers. It bounds what a reader of it needs, and finds most of what repeats.
const window = 1 << 20

// encoders work in their caller's goroutine and own none.
var encoders = sync.Pool{New: func() any {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression),
		zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	return built(e, err)
}}

// decoders are kept between collections: each holds a window, and an edge that nobody asks for documents needs none.
var decoders = sync.Pool{New: func() any { return newDecoder() }}

// newDecoder returns a decoder that works in its caller's goroutine and owns none.
func newDecoder() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(window), zstd.WithDecoderMaxMemory(MaxText))
	return built(d, err)
}

// built returns v; the options are constants that agree.
func built[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func compress(text []byte) []byte {
	e := encoders.Get().(*zstd.Encoder) //nolint:errcheck,forcetypeassert // there is nothing else in it
	defer encoders.Put(e)
	var out bytes.Buffer
	e.ResetContentSize(&out, int64(len(text)))
	_, err := e.Write(text)
	built(&out, err) // a buffer takes everything
	return built(&out, e.Close()).Bytes()
}

// decompress writes what is in a frame to w and returns the number of bytes.
func decompress(w io.Writer, frame io.Reader) (int64, error) {
	d := decoders.Get().(*zstd.Decoder) //nolint:errcheck,forcetypeassert // there is nothing else in it
	defer decoders.Put(d)
	if err := d.Reset(frame); err != nil {
		return 0, err
	}
	defer d.Reset(nil) //nolint:errcheck // lets go of frame
	return d.WriteTo(w)
}
