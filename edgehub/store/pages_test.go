package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

const testPage = 256

// kv is a key and its value on a leaf, or its child on a branch.
type kv struct {
	key    string
	value  string
	child  uint64
	bucket bool
}

// pageBytes returns a page as bbolt writes it.
func pageBytes(id uint64, flags uint16, items ...kv) []byte {
	b := make([]byte, pageHeader+len(items)*pageElement)
	binary.NativeEndian.PutUint64(b, id)
	binary.NativeEndian.PutUint16(b[8:], flags)
	binary.NativeEndian.PutUint16(b[10:], uint16(len(items)))
	for i, it := range items {
		at := pageHeader + i*pageElement
		pos := uint32(len(b) - at)
		if flags == pageBranch {
			binary.NativeEndian.PutUint32(b[at:], pos)
			binary.NativeEndian.PutUint32(b[at+4:], uint32(len(it.key)))
			binary.NativeEndian.PutUint64(b[at+8:], it.child)
		} else {
			if it.bucket {
				binary.NativeEndian.PutUint32(b[at:], elementBucket)
			}
			binary.NativeEndian.PutUint32(b[at+4:], pos)
			binary.NativeEndian.PutUint32(b[at+8:], uint32(len(it.key)))
			binary.NativeEndian.PutUint32(b[at+12:], uint32(len(it.value)))
		}
		b = append(append(b, it.key...), it.value...)
	}
	return b
}

// bucketValue returns the value that stands for a nested bucket: its root page, or 0 and the page inline.
func bucketValue(root uint64, inline []byte) string {
	return string(append(binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, root), 7), inline...))
}

// fileOf returns a file whose pages, from 2 on, are the given.
func fileOf(pages ...[]byte) []byte {
	file := make([]byte, 2*testPage)
	for _, p := range pages {
		n := (len(p) + testPage - 1) / testPage
		binary.NativeEndian.PutUint32(p[12:], uint32(n-1))
		file = append(file, p...)
		file = append(file, make([]byte, n*testPage-len(p))...)
	}
	return file
}

func walk(file []byte) error {
	high := uint64(len(file) / testPage)
	return newPageWalk(bytes.NewReader(file), int64(len(file)), testPage, high).tree(2, nil, nil, 0, 0)
}

func soundFile() []byte {
	return fileOf(
		pageBytes(2, pageBranch, kv{key: "a", child: 3}, kv{key: "m", child: 4}),
		pageBytes(3, pageLeaf, kv{key: "a", value: "1"}, kv{key: "b", value: bucketValue(0, pageBytes(0, pageLeaf, kv{key: "x", value: "y"})), bucket: true}),
		pageBytes(4, pageLeaf, kv{key: "m", value: bucketValue(5, nil), bucket: true}),
		pageBytes(5, pageLeaf, kv{key: "k", value: string(make([]byte, 3*testPage))}),
	)
}

func TestPageWalkTakesASoundFile(t *testing.T) {
	if err := walk(soundFile()); err != nil {
		t.Fatal(err)
	}
}

func TestPageWalkFinds(t *testing.T) {
	leaf := func(id uint64, keys ...string) []byte {
		var items []kv
		for _, k := range keys {
			items = append(items, kv{key: k})
		}
		return pageBytes(id, pageLeaf, items...)
	}
	set16 := func(file []byte, page, at int, v uint16) []byte {
		binary.NativeEndian.PutUint16(file[page*testPage+at:], v)
		return file
	}
	set32 := func(file []byte, page, at int, v uint32) []byte {
		binary.NativeEndian.PutUint32(file[page*testPage+at:], v)
		return file
	}
	// deep is a chain of branches.
	deep := func() (pages [][]byte) {
		for id := uint64(2); id < 2+maxDepth+2; id++ {
			pages = append(pages, pageBytes(id, pageBranch, kv{key: "a", child: id + 1}))
		}
		return append(pages, leaf(2+maxDepth+2, "a"))
	}
	for name, file := range map[string][]byte{
		"a circle":                         fileOf(pageBytes(2, pageBranch, kv{key: "a", child: 2})),
		"a page in two trees":              fileOf(pageBytes(2, pageLeaf, kv{key: "a", value: bucketValue(3, nil), bucket: true}, kv{key: "b", value: bucketValue(3, nil), bucket: true}), leaf(3, "k")),
		"a page inside another":            fileOf(pageBytes(2, pageBranch, kv{key: "a", child: 3}, kv{key: "b", child: 4}), pageBytes(3, pageLeaf, kv{key: "a", value: string(append(make([]byte, testPage-pageHeader-pageElement-1), leaf(4, "b")...))})),
		"a child outside the file":         fileOf(pageBytes(2, pageBranch, kv{key: "a", child: 9})),
		"a child among the meta pages":     fileOf(pageBytes(2, pageBranch, kv{key: "a", child: 1})),
		"a page that says another id":      fileOf(leaf(3, "a")),
		"a page of another kind":           fileOf(pageBytes(2, 0x10)),
		"a page that ends behind the file": set32(fileOf(leaf(2, "a")), 2, 12, 1),
		"a branch without children":        fileOf(pageBytes(2, pageBranch)),
		"more children than fit":           set16(fileOf(pageBytes(2, pageBranch, kv{key: "a", child: 3}), leaf(3, "a")), 2, 10, 60000),
		"more elements than fit":           set16(fileOf(leaf(2, "a")), 2, 10, 60000),
		"a key behind the page":            set32(fileOf(leaf(2, "a")), 2, pageHeader+4, testPage),
		"a value behind the page":          set32(fileOf(leaf(2, "a")), 2, pageHeader+12, testPage),
		"sizes that overflow":              set32(set32(fileOf(leaf(2, "a")), 2, pageHeader+12, 1<<32-1), 2, pageHeader+4, 1<<32-1),
		"a key without bytes":              fileOf(leaf(2, "")),
		"a child's key behind the page":    set32(fileOf(pageBytes(2, pageBranch, kv{key: "a", child: 3}), leaf(3, "a")), 2, pageHeader, testPage),
		"keys out of order":                fileOf(leaf(2, "b", "a")),
		"a key twice":                      fileOf(leaf(2, "a", "a")),
		"children out of order":            fileOf(pageBytes(2, pageBranch, kv{key: "b", child: 3}, kv{key: "a", child: 4}), leaf(3, "b"), leaf(4, "a")),
		"a key before its page's bounds":   fileOf(pageBytes(2, pageBranch, kv{key: "b", child: 3}), leaf(3, "a")),
		"a key behind its page's bounds":   fileOf(pageBytes(2, pageBranch, kv{key: "a", child: 3}, kv{key: "b", child: 4}), leaf(3, "c"), leaf(4, "d")),
		"an element of unknown kind":       set32(fileOf(leaf(2, "a")), 2, pageHeader, 2),
		"a bucket without a header":        fileOf(pageBytes(2, pageLeaf, kv{key: "a", value: "short", bucket: true})),
		"an inline bucket without a page":  fileOf(pageBytes(2, pageLeaf, kv{key: "a", value: bucketValue(0, nil), bucket: true})),
		"an inline bucket of branches":     fileOf(pageBytes(2, pageLeaf, kv{key: "a", value: bucketValue(0, pageBytes(0, pageBranch, kv{key: "a", child: 2})), bucket: true})),
		"an inline bucket with a bucket":   fileOf(pageBytes(2, pageLeaf, kv{key: "a", value: bucketValue(0, pageBytes(0, pageLeaf, kv{key: "a", value: bucketValue(3, nil), bucket: true})), bucket: true}), leaf(3, "k")),
		"too deep a tree":                  fileOf(deep()...),
	} {
		t.Run(name, func(t *testing.T) {
			if err := walk(file); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("got %v", err)
			}
		})
	}
}
