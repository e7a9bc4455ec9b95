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

// decoders are those that are kept. What needs one more makes it and lets it go: each holds a window. They are made here,
// not when they are needed first, because a decoder has a channel, which belongs to the bubble of a test that makes it.
var decoders = func() chan *zstd.Decoder {
	c := make(chan *zstd.Decoder, 2)
	for range cap(c) {
		c <- newDecoder()
	}
	return c
}()

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
	var d *zstd.Decoder
	select {
	case d = <-decoders:
		defer func() { decoders <- d }()
	default:
		d = newDecoder()
		defer d.Close()
	}
	if err := d.Reset(frame); err != nil {
		return 0, err
	}
	defer d.Reset(nil) //nolint:errcheck // lets go of frame
	return d.WriteTo(w)
}
