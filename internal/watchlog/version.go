package watchlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/tombolo-sync/tombolo/internal/patch"
)

// errDamaged is returned for a packed version that does not become what was packed. Who reads gets ErrCompacted.
var errDamaged = errors.New("a packed version is damaged")

// version is an old version of an object, which only the window keeps, packed: as a patch that makes it of a newer one.
type version struct {
	// data is a header, a check and a patch of package patch. nil when like is the version itself, whole, because it could
	// not be packed.
	data []byte
	// like is the version without bytes, revision and checksum. Versions that differ in nothing else share it, which those
	// of a heartbeat do; readers' terms are held against it.
	like *Object
}

// header is what the data of a version begins with. Its numbers are uvarints.
type header struct {
	// dist is how many versions newer the base of the patch is; 0 when it is the window's pattern.
	dist        uint64
	frame       bool // the patch is a frame, not a splice; written as the lowest bit of dist
	rev         uint64
	json, cells uint64 // sizes
}

const checkSize = 4 // a CRC-32C over JSON, cells and header

// packed returns the version o as a patch of base, which is dist versions newer. A version that can't be packed is kept as
// it is. like is left to the window.
func packed(o, base *Object, dist uint32) version {
	head := header{dist: uint64(dist), rev: o.rev, json: uint64(len(o.json)), cells: uint64(len(o.cells))}
	b := head.sealed(make([]byte, 0, 96), o.sum)
	if data, ok := patch.AppendSplice(b, base.text(), o.text(), min(maxSplice, o.Size()/2)); ok {
		return version{data: bytes.Clone(data)}
	}
	head.frame = true
	data, err := patch.Append(head.sealed(b[:0], o.sum), base.text(), o.text())
	if err != nil || len(data) > o.Size()*3/4 {
		return version{like: o}
	}
	return version{data: bytes.Clone(data)}
}

// maxSplice is how large a splice may be: a frame of the same would hardly be smaller.
const maxSplice = 256

func (o *Object) text() patch.Text { return patch.Text{Head: o.json, Tail: o.cells} }

func (h header) append(dst []byte) []byte {
	kind := h.dist << 1
	if h.frame {
		kind |= 1
	}
	for _, n := range [...]uint64{kind, h.rev, h.json, h.cells} {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

// sealed appends the header to dst, which is empty, and the check for a version with the checksum sum.
func (h header) sealed(dst []byte, sum uint32) []byte {
	dst = h.append(dst)
	return binary.BigEndian.AppendUint32(dst, crc32.Update(sum, castagnoli, dst))
}

// parse returns the parts of the data of a version. It fails with errDamaged.
func (v version) parse() (h header, check uint32, data []byte, err error) {
	rest := v.data
	for _, p := range []*uint64{&h.dist, &h.rev, &h.json, &h.cells} {
		x, n := binary.Uvarint(rest)
		if n <= 0 {
			return h, 0, nil, fmt.Errorf("%w: no header", errDamaged)
		}
		*p, rest = x, rest[n:]
	}
	h.dist, h.frame = h.dist>>1, h.dist&1 != 0
	if len(rest) < checkSize || h.json > patch.Max || h.cells > patch.Max {
		return h, 0, nil, fmt.Errorf("%w: no header", errDamaged)
	}
	return h, binary.BigEndian.Uint32(rest), rest[checkSize:], nil
}

// text returns the version's text, in dst if that has room.
func (h header) text(dst []byte, base patch.Text, data []byte) ([]byte, error) {
	apply := patch.ApplySplice
	if h.frame {
		apply = patch.Apply
	}
	out, err := apply(dst, base, data, int64(h.json+h.cells)) //nolint:gosec // each is at most patch.Max
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return out, nil
}

// whole returns the version whose text is given. It fails with errDamaged unless that is what was packed.
func (v version) whole(text []byte, h header, check uint32) (*Object, error) {
	sum := crc32.Checksum(text, castagnoli)
	if crc32.Update(sum, castagnoli, h.append(nil)) != check || uint64(len(text)) != h.json+h.cells {
		return nil, fmt.Errorf("%w: %s: the checksum is another", errDamaged, v.like.key)
	}
	o := v.like.twin()
	o.rev, o.sum, o.json = h.rev, sum, text[:h.json:h.json]
	if h.cells > 0 {
		o.cells = text[h.json:]
	}
	return o, nil
}

// bare returns o without bytes, revision and checksum.
func (o *Object) bare() *Object {
	b := o.twin()
	b.json, b.cells, b.rev, b.sum = nil, nil, 0, 0
	return b
}

// twin returns another object with the same content.
func (o *Object) twin() *Object {
	return &Object{
		key: o.key, nsLen: o.nsLen, uid: o.uid, rev: o.rev, labels: o.labels, fields: o.fields, json: o.json, cells: o.cells,
		revStart: o.revStart, revEnd: o.revEnd, itemStart: o.itemStart, metaStart: o.metaStart, metaEnd: o.metaEnd,
		sum: o.sum, custom: o.custom,
	}
}

// isLike tells whether o differs from like in bytes, revision and checksum at most.
func (o *Object) isLike(like *Object) bool {
	return o.key == like.key && o.nsLen == like.nsLen && o.uid == like.uid && o.custom == like.custom &&
		o.revStart == like.revStart && o.revEnd == like.revEnd && o.itemStart == like.itemStart &&
		o.metaStart == like.metaStart && o.metaEnd == like.metaEnd &&
		slices.Equal(o.labels, like.labels) && slices.Equal(o.fields, like.fields)
}

const (
	versionCost = 48  // a version in its chain, with the room that a growing slice has
	likeCost    = 192 // an object without labels and fields
	labelCost   = 32
	fieldCost   = 32
)

// cost returns what the window pays for the version, without like.
func (v version) cost() int64 {
	if v.data == nil {
		return versionCost + int64(v.like.Size())
	}
	return versionCost + int64(len(v.data)+15)&^15
}

// bareCost returns what an object costs without its bytes.
func (o *Object) bareCost() int64 {
	return likeCost + labelCost*int64(len(o.labels)) + fieldCost*int64(len(o.fields))
}
