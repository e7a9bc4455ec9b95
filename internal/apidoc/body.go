package apidoc

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

const (
	// MaxText bounds the text of a document, in bytes. The largest, a legacy OpenAPI document, has a few MiB.
	MaxText = 64 << 20
	// MaxFrame bounds the frame of a document, in bytes.
	MaxFrame = 12 << 20
)

// ErrMalformed is what is wrong with a frame that can't be a document's.
var ErrMalformed = errors.New("malformed document")

// Body is the text of a document, held compressed. It is immutable. The zero value is an empty text.
type Body struct {
	frame []byte // a zstd frame; nil for an empty text
	size  int    // of the text
	sum   Hash   // of the text; zero for an empty text
}

// Pack returns a body of a text, which is not kept.
func Pack(text []byte) Body {
	if len(text) == 0 {
		return Body{}
	}
	return Body{frame: bytes.Clone(compress(text)), size: len(text), sum: sumOf(text)}
}

// Repack returns b when text is its text, else what Pack returns: what did not change is not compressed again.
func (b Body) Repack(text []byte) Body {
	if len(text) > 0 && len(text) == b.size && sumOf(text) == b.sum {
		return b
	}
	return Pack(text)
}

// Unpack returns the body that Frame gave, having read all of it. The frame is kept. Memory and time are bounded whatever
// the frame is: ErrMalformed for one that is none, or is larger than MaxFrame, or has a text larger than MaxText.
func Unpack(frame []byte) (Body, error) {
	if len(frame) == 0 {
		return Body{}, nil
	}
	if len(frame) > MaxFrame {
		return Body{}, fmt.Errorf("%w: a frame of %d bytes", ErrMalformed, len(frame))
	}
	m := &meter{hash: sha256.New()}
	if _, err := decompress(m, bytes.NewReader(frame)); err != nil {
		return Body{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if m.size == 0 {
		return Body{}, fmt.Errorf("%w: a frame without a text", ErrMalformed)
	}
	return Body{frame: frame, size: m.size, sum: sum(m.hash)}, nil
}

// Restore returns a body whose Frame, Len and Sum were kept, without reading it: whoever kept them has to know that they are
// what they were. ErrMalformed for what no body has.
func Restore(frame []byte, size int, sum Hash) (Body, error) {
	if len(frame) == 0 || len(frame) > MaxFrame || size <= 0 || size > MaxText {
		return Body{}, fmt.Errorf("%w: a frame of %d bytes for %d", ErrMalformed, len(frame), size)
	}
	return Body{frame: frame, size: size, sum: sum}, nil
}

// meter measures a text.
type meter struct {
	hash hash.Hash
	size int
}

func (m *meter) Write(p []byte) (int, error) {
	if m.size += len(p); m.size > MaxText {
		return 0, fmt.Errorf("a text of more than %d bytes", MaxText)
	}
	return m.hash.Write(p)
}

// Frame returns the compressed text, nil for an empty one. It must not be changed.
func (b Body) Frame() []byte { return b.frame }

// Len returns the size of the text in bytes.
func (b Body) Len() int { return b.size }

// Sum returns the SHA-256 of the text, cut to 128 bits; zero for an empty one.
func (b Body) Sum() Hash { return b.sum }

// Text returns the text, in memory of its own. An error means that the memory or file that held the body was damaged.
func (b Body) Text() ([]byte, error) {
	out := bytes.NewBuffer(make([]byte, 0, b.size))
	_, err := b.WriteTo(out)
	return out.Bytes(), err
}

// String returns the text, for messages and tests; of a damaged body, what is wrong.
func (b Body) String() string {
	text, err := b.Text()
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// WriteTo writes the text to w piece by piece; memory does not grow with it. Errors are those of w, and ErrMalformed as
// for Text.
func (b Body) WriteTo(w io.Writer) (int64, error) {
	if b.size == 0 {
		return 0, nil
	}
	n, err := decompress(w, bytes.NewReader(b.frame))
	if err == nil && n != int64(b.size) {
		err = fmt.Errorf("%w: %d bytes instead of %d", ErrMalformed, n, b.size)
	}
	return n, err
}
