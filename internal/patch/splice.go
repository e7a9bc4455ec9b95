package patch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"
)

// A splice is a patch for texts that are the same but for a few short places, as the versions of a heartbeat are: it is made
// and applied in a twentieth of the time that a zstd frame takes. It is a row of steps, each of which is
//
//	uvarint  how many bytes to copy from the base
//	uvarint  how many bytes follow here; they stand for as many of the base
//	…        these bytes
//	varint   how many bytes more of the base to leave out, or to go back
const (
	// anchorSize is how many bytes must be the same where a step ends.
	anchorSize = 8
	// maxInsert bounds the bytes of a step.
	maxInsert = 64
	// maxShift bounds how much longer or shorter the base may be at a place.
	maxShift = 512
)

// joiner is memory for joining the parts of texts.
type joiner struct{ base, text []byte }

var joiners = sync.Pool{New: func() any { return &joiner{} }}

// AppendSplice appends a splice to dst that makes text of base. It returns false when the two are not near enough for one of
// at most limit bytes.
func AppendSplice(dst []byte, base, text Text, limit int) ([]byte, bool) {
	s := joiners.Get().(*joiner) //nolint:forcetypeassert // what New returns
	defer joiners.Put(s)
	b, t := base.join(&s.base), text.join(&s.text)
	begin := len(dst)
	for {
		n := common(b, t)
		b, t = b[n:], t[n:]
		insert, shift, ok := resync(b, t)
		if !ok || len(dst)-begin+insert > limit {
			return dst[:begin], false
		}
		dst = binary.AppendUvarint(dst, uint64(n)) //nolint:gosec // a length
		dst = binary.AppendUvarint(dst, uint64(insert))
		dst = append(dst, t[:insert]...)
		dst = binary.AppendVarint(dst, int64(shift))
		if t = t[insert:]; len(t) == 0 {
			return dst, true
		}
		b = b[insert+shift:]
	}
}

// common returns how many bytes a and b begin with are the same.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// resync returns after how many bytes of t the base b goes on like it, shift bytes further along.
func resync(b, t []byte) (insert, shift int, ok bool) {
	for k := 0; k <= maxInsert && k+anchorSize <= min(len(t), len(b)); k++ {
		if binary.LittleEndian.Uint64(b[k:]) == binary.LittleEndian.Uint64(t[k:]) {
			return k, 0, true
		}
	}
	if len(t) <= maxInsert {
		return len(t), 0, true
	}
	near := b[:min(len(b), maxShift)]
	for k := 0; k <= maxInsert && k+anchorSize <= len(t); k += anchorSize / 2 {
		if at := bytes.Index(near, t[k:k+anchorSize]); at >= 0 {
			return k, at - k, true
		}
	}
	return 0, 0, false
}

// ApplySplice is Apply for a splice.
func ApplySplice(dst []byte, base Text, splice []byte, size int64) ([]byte, error) {
	if size < 0 || size > Max || base.Len() > Max {
		return nil, fmt.Errorf("%w: an object of more than %d bytes", Err, Max)
	}
	s := joiners.Get().(*joiner) //nolint:forcetypeassert // what New returns
	defer joiners.Put(s)
	b := base.join(&s.base)
	if int64(cap(dst)) < size {
		dst = make([]byte, 0, size)
	}
	out := dst[:0:size]
	for at := int64(0); len(splice) > 0; {
		var step step
		if step, splice = nextStep(splice); !step.fits(at, int64(len(b)), size-int64(len(out))) {
			return nil, fmt.Errorf("%w: a step that does not fit", Err)
		}
		out = append(append(out, b[at:at+step.n]...), step.insert...)
		at += step.n + int64(len(step.insert)) + step.shift
	}
	if int64(len(out)) != size {
		return nil, fmt.Errorf("%w: it makes %d bytes instead of %d", Err, len(out), size)
	}
	return out, nil
}

// step is a step of a splice; n is negative when it is damaged.
type step struct {
	n, shift int64
	insert   []byte
}

// nextStep takes a step from a splice.
func nextStep(splice []byte) (step, []byte) {
	n, a := binary.Uvarint(splice)
	if a <= 0 || n > Max {
		return step{n: -1}, nil
	}
	insert, c := binary.Uvarint(splice[a:])
	if c <= 0 || insert > uint64(len(splice)-a-c) {
		return step{n: -1}, nil
	}
	splice = splice[a+c:]
	shift, d := binary.Varint(splice[insert:])
	if d <= 0 || shift > Max || shift < -Max {
		return step{n: -1}, nil
	}
	return step{int64(n), shift, splice[:insert]}, splice[int(insert)+d:] //nolint:gosec // at most Max
}

// fits tells whether the step can be taken at a place of a base with so many bytes, with room left for so many.
func (s step) fits(at, base, room int64) bool {
	return s.n >= 0 && at >= 0 && at+s.n <= base && s.n+int64(len(s.insert)) <= room
}
