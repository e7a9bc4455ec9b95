package patch

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/tombolo-sync/tombolo/internal/workbench"
)

const (
	// Max bounds the texts that patches are made between, in bytes.
	Max = 2 << 20
	// window reaches from the end of the new text back to the beginning of the old one.
	window = 2 * Max
	// large is the size of texts from which on the fastest encoder's table is too small to find what is the same.
	large = 192 << 10
	// keptScratch is how much memory for joining the parts of texts a coder keeps.
	keptScratch = 256 << 10
)

// Err is returned for a patch that does not make of a base what it should: it is damaged, or was made of another base, or
// would make more than it says.
var Err = errors.New("the patch does not apply")

// Text is a text in two parts, the second of which follows the first.
type Text struct{ Head, Tail []byte }

// Len returns the number of bytes.
func (t Text) Len() int { return len(t.Head) + len(t.Tail) }

// join returns the text in one slice, for which it uses scratch if need be.
func (t Text) join(scratch *[]byte) []byte {
	if len(t.Tail) == 0 {
		return t.Head
	}
	joined := append(append((*scratch)[:0], t.Head...), t.Tail...)
	if *scratch = joined; cap(joined) > keptScratch {
		*scratch = nil
	}
	return joined
}

// encoder makes patches, one after the other.
type encoder struct {
	enc       *zstd.Encoder
	base, src []byte // scratch
}

var (
	encoders      = workbench.New(func() *encoder { return newEncoder(zstd.SpeedFastest) })
	largeEncoders = workbench.New(func() *encoder { return newEncoder(zstd.SpeedBetterCompression) })
)

func newEncoder(level zstd.EncoderLevel) *encoder {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false), zstd.WithWindowSize(window))
	if err != nil {
		panic(err) // the options are constants
	}
	return &encoder{enc: enc}
}

// Append appends to dst a patch that makes text of base. It fails with Err when one of them is larger than Max.
func Append(dst []byte, base, text Text) ([]byte, error) {
	if base.Len() > Max || text.Len() > Max {
		return dst, fmt.Errorf("%w: an object of more than %d bytes", Err, Max)
	}
	bench := encoders
	if base.Len() >= large {
		bench = largeEncoders
	}
	err := bench.With(func(e *encoder) (err error) {
		dst, err = e.append(dst, base, text)
		return err
	})
	return dst, err
}

func (e *encoder) append(dst []byte, base, text Text) ([]byte, error) {
	if err := e.enc.ResetWithOptions(nil, zstd.WithEncoderDictRaw(0, base.join(&e.base))); err != nil {
		return dst, fmt.Errorf("%w: %w", Err, err)
	}
	return e.enc.EncodeAll(text.join(&e.src), dst), nil
}
