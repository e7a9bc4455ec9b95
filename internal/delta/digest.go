package delta

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"math/bits"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Digest stands for a set of object versions: the sum, modulo 2^128, of a hash of each one's key, UID, revision and
// the CRC-32C of its bytes and cells. Two states with the same digest have the same versions, up to a chance of 2^-64 for
// random differences, and a version whose bytes differ goes unnoticed with a chance of 2^-32. It is kept incrementally, in
// any order. The zero value is the digest of the empty set.
type Digest struct {
	Count  uint64
	hi, lo uint64
}

// digestSize is the length of an encoded sum.
const digestSize = 16

// ErrDigest is returned by Parse for bytes that are not an encoded digest.
var ErrDigest = errors.New("malformed digest")

// Add puts an object version into the set.
func (d *Digest) Add(o *watchlog.Object) {
	d.add(hash(o))
}

func (d *Digest) add(hi, lo uint64) {
	var carry uint64
	d.lo, carry = bits.Add64(d.lo, lo, 0)
	d.hi, _ = bits.Add64(d.hi, hi, carry)
	d.Count++
}

// Remove takes an object version out of the set.
func (d *Digest) Remove(o *watchlog.Object) {
	hi, lo := hash(o)
	var borrow uint64
	d.lo, borrow = bits.Sub64(d.lo, lo, 0)
	d.hi, _ = bits.Sub64(d.hi, hi, borrow)
	d.Count--
}

// Join puts another set into this one. They must have nothing in common.
func (d *Digest) Join(o Digest) {
	var carry uint64
	d.lo, carry = bits.Add64(d.lo, o.lo, 0)
	d.hi, _ = bits.Add64(d.hi, o.hi, carry)
	d.Count += o.Count
}

// Subtract takes a set that is part of this one out of it.
func (d *Digest) Subtract(o Digest) {
	var borrow uint64
	d.lo, borrow = bits.Sub64(d.lo, o.lo, 0)
	d.hi, _ = bits.Sub64(d.hi, o.hi, borrow)
	d.Count -= o.Count
}

// Apart returns how many objects one of two sets has more than the other: so many differ at least.
func (d Digest) Apart(o Digest) int {
	return int(min(max(d.Count, o.Count)-min(d.Count, o.Count), math.MaxInt32)) //nolint:gosec // bounded
}

// Apply takes the set over events.
func (d *Digest) Apply(events []*watchlog.Event) {
	for _, e := range events {
		if e.Prev != nil {
			d.Remove(e.Prev)
		}
		if e.Type != watchlog.Deleted {
			d.Add(e.Object)
		}
	}
}

// Bytes encodes the sum, without the count.
func (d *Digest) Bytes() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, digestSize), d.hi)
	return binary.BigEndian.AppendUint64(b, d.lo)
}

// Parse returns the digest with a count and an encoded sum. It fails with ErrDigest when sum is not 16 bytes long.
func Parse(count uint64, sum []byte) (Digest, error) {
	if len(sum) != digestSize {
		return Digest{}, ErrDigest
	}
	return Digest{Count: count, hi: binary.BigEndian.Uint64(sum), lo: binary.BigEndian.Uint64(sum[8:])}, nil
}

// hash returns the first 128 bits of SHA-256 over the object's identity, revision and checksum. The parts can't run into
// one another: a key and a UID have no NUL byte, and the rest has a fixed length.
func hash(o *watchlog.Object) (hi, lo uint64) {
	var buf [256]byte
	b := append(buf[:0], o.Key()...)
	b = append(b, 0)
	b = append(b, o.UID()...)
	b = append(b, 0)
	b = binary.BigEndian.AppendUint64(b, o.Rev())
	b = binary.BigEndian.AppendUint32(b, o.Checksum())
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the CRC-32C of an object's JSON and then its cells, by which a receiver knows that it has them right.
func Checksum(parts ...[]byte) uint32 {
	sum := uint32(0)
	for _, p := range parts {
		sum = crc32.Update(sum, castagnoli, p)
	}
	return sum
}

// ChecksumOf returns the Checksum of an object.
func ChecksumOf(o *watchlog.Object) uint32 { return o.Checksum() }
