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
	digest  delta.Digest // of this version alone
	written int64        // the time in its Marker, in Unix nanoseconds; 0 for none
}

// versionID is what tells versions apart without decoding them. The bytes have the UID and the revision in them, so two
// versions under one key differ in the checksum, but for one in 2^32.
type versionID struct {
	kind *kind
	key  string
	size int
	crc  uint32
}

func newVersion(id versionID, o *watchlog.Object) *version {
	v := &version{id: id, uid: o.UID(), rev: o.Rev(), written: marked(o.JSON())}
	v.id.key = o.Key()
	v.digest.Add(o)
	return v
}

// Marker is the annotation by which a writer says when it wrote an object, in Unix nanoseconds. From it and the clock of
// this machine the fleet tells how long the object took to an edge.
const Marker = "tombolo.io/written-at"

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
