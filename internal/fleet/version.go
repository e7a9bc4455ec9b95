package fleet

import (
	"bytes"
	"strconv"

	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// version is what the fleet keeps of one version of an object, once for all edges that hold it. It is immutable.
type version struct {
	id      versionID
	uid     string
	rev     uint64
	hash    uint64           // what it adds to a range's sum
	object  *watchlog.Object // the base of patches, once for all edges
	made    origin           // how the first edge came to it; zero when it came whole
	digest  delta.Digest     // of this version alone
	written int64            // the time in its Marker, in Unix nanoseconds; 0 for none
}

// versionID is what tells versions apart without decoding them. The bytes have the UID and the revision in them, so two
// versions under one key differ in the checksum, but for one in 2^32.
type versionID struct {
	kind *kind
	key  string
	size int
	crc  uint32
}

// origin is a patch and what it was against. The same patch of the same base makes the same version, so only the first
// edge has to apply it.
type origin struct {
	base versionID
	rev  uint64 // of the base
	size int    // of the patch, and its checksum
	crc  uint32
}

func newVersion(id versionID, from origin, o *watchlog.Object) *version {
	v := &version{id: id, made: from, uid: o.UID(), rev: o.Rev(), hash: delta.HashOf(o), object: o, written: marked(o.JSON())}
	v.id.key = o.Key()
	v.digest.Add(o)
	return v
}

// Marker is the annotation by which a writer says when it wrote an object, in Unix nanoseconds. From it and the clock of
// this machine the fleet tells how long the object took to an edge.
const Marker = "tombolo.dev/written-at"

// marked returns the time in an object's Marker, 0 for none.
func marked(raw []byte) int64 {
	_, rest, found := bytes.Cut(raw, []byte(`"`+Marker+`":"`))
	if !found {
		return 0
	}
	digits, _, _ := bytes.Cut(rest, []byte(`"`))
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
