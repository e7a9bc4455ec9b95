package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// measured is what the body of a document begins with when its frame stands behind the size and the hash of its text: a
// plain cluster's documents have 17 MB of text, which an edge that starts need not read to know them. Neither a frame nor
// a text in UTF-8 begins so.
const measured = 0xff

// zstdMagic is what every frame begins with, and no text: it is not UTF-8.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// appendBody appends the body of a document, nothing when it is empty.
func appendBody(dst []byte, b apidoc.Body) []byte {
	if b.Len() == 0 {
		return dst
	}
	sum := b.Sum()
	dst = append(dst, measured)
	dst = binary.AppendUvarint(dst, uint64(b.Len())) //nolint:gosec // a length
	dst = append(dst, sum[:]...)
	return append(dst, b.Frame()...)
}

// readBody returns the body that is stored as b, which is kept. Older versions stored frames alone, and before that texts.
func readBody(b []byte) (body apidoc.Body, err error) {
	switch {
	case len(b) > 0 && b[0] == measured:
		body, err = restoreBody(b[1:])
	case len(b) > 0 && !bytes.HasPrefix(b, zstdMagic):
		return apidoc.Pack(b), nil
	default:
		body, err = apidoc.Unpack(b)
	}
	if err != nil {
		return body, errors.Join(ErrCorrupt, err)
	}
	return body, nil
}

func restoreBody(b []byte) (apidoc.Body, error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > apidoc.MaxText || len(b) < n+apidoc.HashSize {
		return apidoc.Body{}, fmt.Errorf("a body of %d bytes without a size or a hash", len(b))
	}
	b = b[n:]
	return apidoc.Restore(b[apidoc.HashSize:], int(size), apidoc.Hash(b[:apidoc.HashSize]))
}

// verifyDocument reads the document stored as k and v as a whole.
func verifyDocument(k, v []byte) error {
	d, err := decodeDocument(k, v)
	if err != nil {
		return err
	}
	body, err := apidoc.Unpack(d.Body.Frame())
	if err != nil {
		return fmt.Errorf("document %q: %w", k, errors.Join(ErrCorrupt, err))
	}
	if body.Len() != d.Body.Len() || body.Sum() != d.Body.Sum() {
		return fmt.Errorf("%w: document %q is another text than it says", ErrCorrupt, k)
	}
	return nil
}
