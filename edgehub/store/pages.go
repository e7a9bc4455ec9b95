package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"go.etcd.io/bbolt"
)

// The parts of bbolt's file format that pageWalk reads. Its numbers are in the byte order of the machine.
const (
	pageHeader    = 16 // id uint64, flags uint16, count uint16, overflow uint32
	pageElement   = 16 // leaf: flags, pos, ksize, vsize uint32; branch: pos, ksize uint32, id uint64
	bucketHeader  = 16 // root uint64, sequence uint64
	pageBranch    = 1
	pageLeaf      = 2
	elementBucket = 1
)

const (
	maxDepth = 32 // of one tree of pages: far more than any file needs
	maxNest  = 4  // of buckets in buckets: one more than there are
)

// pageWalk verifies that a bbolt file can be read without harm: every page of every tree lies inside the file, is what
// it claims to be, belongs to one tree only, and holds its keys inside its bounds and in order. bbolt takes all this for
// granted; where it doesn't hold it reads wild memory, runs in circles, or panics in a goroutine of its own.
type pageWalk struct {
	file     io.ReaderAt
	pageSize int64
	seen     []bool   // by page id, for all that are in use and inside the file
	spare    [][]byte // buffers for pages, not in use
}

// verifyPages verifies the pages that tx sees of the file at path. It fails with ErrCorrupt.
func verifyPages(tx *bbolt.Tx, path string) error {
	f, err := os.Open(path) //nolint:gosec // in the edge's own directory
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	pageSize := int64(tx.DB().Info().PageSize)
	w := newPageWalk(f, info.Size(), pageSize, uint64(tx.Size()/pageSize))
	return w.tree(uint64(tx.Cursor().Bucket().Root()), nil, nil, 0, 0)
}

// newPageWalk returns a walk over a file of size bytes, in which the page high and those behind it are not in use.
func newPageWalk(file io.ReaderAt, size, pageSize int64, high uint64) *pageWalk {
	return &pageWalk{file: file, pageSize: pageSize, seen: make([]bool, min(high, uint64(size/pageSize)))}
}

// tree verifies the page id and all below it. Its keys are at least low and below high, where those are not nil.
func (w *pageWalk) tree(id uint64, low, high []byte, depth, nest int) error {
	if depth > maxDepth || nest > maxNest {
		return w.bad(id, "too deep")
	}
	page, err := w.read(id)
	if err != nil {
		return err
	}
	defer func() { w.spare = append(w.spare, page) }()
	n := int(binary.NativeEndian.Uint16(page[10:]))
	switch binary.NativeEndian.Uint16(page[8:]) {
	case pageLeaf:
		return w.leaf(id, page, n, low, high, nest)
	case pageBranch:
		return w.branch(id, page, n, low, high, depth, nest)
	default:
		return w.bad(id, "neither leaf nor branch")
	}
}

// read returns the bytes of a page, overflow included, that no other tree has.
func (w *pageWalk) read(id uint64) ([]byte, error) {
	if id < 2 || id >= uint64(len(w.seen)) {
		return nil, w.bad(id, "outside the file")
	}
	var header [pageHeader]byte
	if _, err := w.file.ReadAt(header[:], int64(id)*w.pageSize); err != nil {
		return nil, fmt.Errorf("%w: read page %d: %w", ErrCorrupt, id, err)
	}
	pages := uint64(binary.NativeEndian.Uint32(header[12:])) + 1
	if got := binary.NativeEndian.Uint64(header[:]); got != id || pages > uint64(len(w.seen))-id {
		return nil, w.bad(id, "says it is page %d of %d pages", got, pages)
	}
	for i := id; i < id+pages; i++ {
		if w.seen[i] {
			return nil, w.bad(i, "used twice")
		}
		w.seen[i] = true
	}
	page := w.buffer(int(pages) * int(w.pageSize))
	if _, err := w.file.ReadAt(page, int64(id)*w.pageSize); err != nil {
		return nil, fmt.Errorf("%w: read page %d: %w", ErrCorrupt, id, err)
	}
	return page, nil
}

// buffer returns n bytes of no particular content.
func (w *pageWalk) buffer(n int) []byte {
	if last := len(w.spare) - 1; last >= 0 {
		b := w.spare[last]
		w.spare = w.spare[:last]
		if cap(b) >= n {
			return b[:n]
		}
	}
	return make([]byte, n)
}

func (w *pageWalk) leaf(id uint64, page []byte, n int, low, high []byte, nest int) error {
	if pageHeader+n*pageElement > len(page) {
		return w.bad(id, "%d elements", n)
	}
	keys := keyOrder{low: low, high: high}
	for i := range n {
		kind, key, value := leafElement(page, i)
		if key == nil || !keys.next(key) {
			return w.bad(id, "element %d out of bounds or order", i)
		}
		switch kind {
		case 0:
		case elementBucket:
			if err := w.bucket(id, value, nest); err != nil {
				return err
			}
		default:
			return w.bad(id, "element %d of unknown kind", i)
		}
	}
	return nil
}

// leafElement returns the kind, key and value of element i; the key is nil when they are out of bounds.
func leafElement(page []byte, i int) (kind uint32, key, value []byte) {
	at := pageHeader + i*pageElement
	e := page[at:]
	ksize := binary.NativeEndian.Uint32(e[8:])
	both := span(page, at, binary.NativeEndian.Uint32(e[4:]), ksize, binary.NativeEndian.Uint32(e[12:]))
	if both == nil {
		return 0, nil, nil
	}
	return binary.NativeEndian.Uint32(e), both[:ksize], both[ksize:]
}

// bucket verifies a nested bucket by the value that stands for it on page id.
func (w *pageWalk) bucket(id uint64, v []byte, nest int) error {
	if len(v) < bucketHeader {
		return w.bad(id, "bucket of %d bytes", len(v))
	}
	if root := binary.NativeEndian.Uint64(v); root != 0 {
		return w.tree(root, nil, nil, 0, nest+1)
	}
	v = v[bucketHeader:]
	if len(v) < pageHeader || binary.NativeEndian.Uint16(v[8:]) != pageLeaf {
		return w.bad(id, "inline bucket is not a leaf")
	}
	return w.leaf(id, v, int(binary.NativeEndian.Uint16(v[10:])), nil, nil, maxNest)
}

func (w *pageWalk) branch(id uint64, page []byte, n int, low, high []byte, depth, nest int) error {
	if n == 0 || pageHeader+n*pageElement > len(page) {
		return w.bad(id, "%d elements", n)
	}
	keys := keyOrder{low: low, high: high}
	for i := range n {
		key, child := branchElement(page, i)
		if key == nil || !keys.next(key) {
			return w.bad(id, "element %d out of bounds or order", i)
		}
		below := high
		if i+1 < n {
			below, _ = branchElement(page, i+1)
		}
		if err := w.tree(child, key, below, depth+1, nest); err != nil {
			return err
		}
	}
	return nil
}

// branchElement returns the key and page of element i; the key is nil when it is out of bounds.
func branchElement(page []byte, i int) (key []byte, child uint64) {
	at := pageHeader + i*pageElement
	e := page[at:]
	key = span(page, at, binary.NativeEndian.Uint32(e), binary.NativeEndian.Uint32(e[4:]), 0)
	return key, binary.NativeEndian.Uint64(e[8:])
}

// span returns the key and value of the element at at, which begin pos bytes behind it; nil when they don't lie on the
// page or the key is empty.
func span(page []byte, at int, pos, ksize, vsize uint32) []byte {
	start := int64(at) + int64(pos)
	end := start + int64(ksize) + int64(vsize)
	if ksize == 0 || end > int64(len(page)) {
		return nil
	}
	return page[start:end]
}

// keyOrder verifies that keys ascend between two bounds.
type keyOrder struct {
	low, high []byte // first key allowed, first not allowed; nil for no bound
	last      []byte
}

func (o *keyOrder) next(key []byte) bool {
	ok := bytes.Compare(key, o.low) >= 0 && (o.high == nil || bytes.Compare(key, o.high) < 0) &&
		(o.last == nil || bytes.Compare(o.last, key) < 0)
	o.last = key
	return ok
}

func (w *pageWalk) bad(id uint64, format string, args ...any) error {
	return fmt.Errorf("%w: page %d: %s", ErrCorrupt, id, fmt.Sprintf(format, args...))
}
