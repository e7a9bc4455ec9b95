package delta

import (
	"encoding/binary"
	"math/bits"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Ranges are sums over the parts of a set of object versions, so that two peers whose digests differ find out where. A
// part is what the CRC-32C of the key leaves modulo the number of parts; its sum is that of the low halves of the hashes
// that Digest adds up, modulo 2^64.
type Ranges []uint64

const (
	minRanges = 16
	maxRanges = 1024
	sumSize   = 8
	// Beyond rangedFrom objects ranges cost less than the ids of all.
	rangedFrom = 32
)

// NewRanges returns empty ranges for about so many objects, of which some differ as far as is known, nil when there are so
// few that their ids cost no more. With about 40 bytes for a key and its hash, that many parts make the sums and what is in
// the parts that differ smallest together.
func NewRanges(objects, differ int) Ranges {
	if objects < rangedFrom {
		return nil
	}
	n := minRanges
	for n < maxRanges && n*n < 8*objects*max(differ, 1) {
		n *= 2
	}
	return make(Ranges, n)
}

// ParseRanges returns the ranges that b encodes. It fails with ErrDigest unless they are 16 to 1024, a power of two.
func ParseRanges(b []byte) (Ranges, error) {
	n := len(b) / sumSize
	if len(b)%sumSize != 0 || n < minRanges || n > maxRanges || bits.OnesCount(uint(n)) != 1 { //nolint:gosec // small
		return nil, ErrDigest
	}
	r := make(Ranges, n)
	for i := range r {
		r[i] = binary.BigEndian.Uint64(b[i*sumSize:])
	}
	return r, nil
}

// Bytes encodes the sums.
func (r Ranges) Bytes() []byte {
	b := make([]byte, 0, len(r)*sumSize)
	for _, sum := range r {
		b = binary.BigEndian.AppendUint64(b, sum)
	}
	return b
}

// Part returns the part that a key is in. Package crc32 would want a copy of the key.
func (r Ranges) Part(key string) int {
	sum := ^uint32(0)
	for i := range len(key) {
		sum = castagnoli[byte(sum)^key[i]] ^ sum>>8
	}
	return int(^sum) & (len(r) - 1)
}

// Differ returns the parts whose sums differ in r and other, which has as many.
func (r Ranges) Differ(other Ranges) Parts {
	p := make(Parts, (len(r)+7)/8)
	for i := range r {
		if r[i] != other[i] {
			p[i/8] |= 1 << (i % 8)
		}
	}
	return p
}

// AddRanged is Add, and puts o into r too.
func (d *Digest) AddRanged(r Ranges, o *watchlog.Object) {
	hi, lo := hash(o)
	d.add(hi, lo)
	r[r.Part(o.Key())] += lo
}

// Add puts an object into r, by its key and HashOf.
func (r Ranges) Add(key string, hash uint64) { r[r.Part(key)] += hash }

// HashOf returns what an object adds to its part's sum.
func HashOf(o *watchlog.Object) uint64 {
	_, lo := hash(o)
	return lo
}

// Parts are some of the parts of ranges: one bit for each, the lowest one of the first byte first.
type Parts []byte

// AllParts returns all parts of ranges.
func AllParts(r Ranges) Parts {
	p := make(Parts, (len(r)+7)/8)
	for i := range p {
		p[i] = 0xff
	}
	return p
}

// Has tells whether part i is among them.
func (p Parts) Has(i int) bool { return i/8 < len(p) && p[i/8]&(1<<(i%8)) != 0 }

// Len returns how many there are.
func (p Parts) Len() int {
	n := 0
	for _, b := range p {
		n += bits.OnesCount8(b)
	}
	return n
}
