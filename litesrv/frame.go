package litesrv

import (
	"encoding/json"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// The types of what a watch sends.
const (
	verbAdded    = "ADDED"
	verbModified = "MODIFIED"
	verbDeleted  = "DELETED"
	verbBookmark = "BOOKMARK"
	verbError    = "ERROR"
)

// Frames in JSON are lines: {"type":"ADDED","object":{…}}.
const (
	frameStart  = `{"type":"`
	frameObject = `","object":`
	frameEnd    = "}\n"
)

// framer makes the frames of one watch.
type framer struct {
	res   *watchlog.Resource
	shape shape
	proto *protobufs // nil when they are in JSON
}

// appendObject appends the frame of an object, with rev as its resourceVersion. It fails only in protobuf.
func (f *framer) appendObject(dst []byte, verb string, o *watchlog.Object, rev uint64) ([]byte, error) {
	if f.proto == nil {
		dst = append(f.shape.appendObject(appendVerb(dst, verb), o, rev), frameEnd...)
		f.sent()
		return dst, nil
	}
	message, err := f.proto.message(f.res, f.shape, o, rev)
	if err != nil {
		return dst, err
	}
	return f.shape.typeMeta(f.res).appendFrame(dst, verb, message), nil
}

// sent takes note of a frame: in a watch of tables only the first one has columns.
func (f *framer) sent() {
	if f.shape.table != nil {
		f.shape.table.columns = "null"
	}
}

// appendEvent appends what a watch of the selection is sent of an event, which may be nothing. An object that is no
// longer selected is sent as deleted: its previous bytes with the event's resourceVersion.
func (f *framer) appendEvent(dst []byte, e *watchlog.Event, sel *selection) ([]byte, error) {
	is := e.Type != watchlog.Deleted && sel.matches(e.Object)
	was := e.Prev != nil && sel.matches(e.Prev)
	switch {
	case is && was:
		return f.appendObject(dst, verbModified, e.Object, e.Object.Rev())
	case is:
		return f.appendObject(dst, verbAdded, e.Object, e.Object.Rev())
	case was:
		return f.appendObject(dst, verbDeleted, e.Prev, e.Shown)
	default:
		return dst, nil
	}
}

// appendBookmark appends a bookmark. initial marks the one that ends the initial events.
func (f *framer) appendBookmark(dst []byte, rev uint64, initial bool) ([]byte, error) {
	if f.proto == nil {
		dst = append(appendBookmark(appendVerb(dst, verbBookmark), f.res, rev, initial, f.shape), frameEnd...)
		f.sent()
		return dst, nil
	}
	message, err := f.proto.bookmark(f.res, f.shape, rev, initial)
	if err != nil {
		return dst, err
	}
	return f.shape.typeMeta(f.res).appendFrame(dst, verbBookmark, message), nil
}

// appendError appends the frame that ends a watch with an error.
func (f *framer) appendError(dst []byte, err error) []byte {
	status := statusOf(err)
	if f.proto != nil {
		kind, message := statusMessage(status)
		return kind.appendFrame(dst, verbError, message)
	}
	raw, jsonErr := json.Marshal(status)
	if jsonErr != nil {
		panic(jsonErr) // a Status has nothing that can't be encoded
	}
	return append(append(appendVerb(dst, verbError), raw...), frameEnd...)
}

func appendVerb(dst []byte, verb string) []byte {
	return append(append(append(dst, frameStart...), verb...), frameObject...)
}

// appendBookmark appends the object of a bookmark in JSON: an empty one of the resource's kind with nothing but a
// resourceVersion.
func appendBookmark(dst []byte, r *watchlog.Resource, rev uint64, initial bool, s shape) []byte {
	if s.kind == kindTable {
		return s.appendTableBookmark(dst, r, rev, initial)
	}
	annotations := bookmarkAnnotations(r, initial, s)
	if r.Custom && s.kind == "" {
		dst = append(append(dst, `{"apiVersion":"`...), r.APIVersion()...)
		dst = append(append(dst, `","kind":"`...), r.Kind...)
		dst = append(dst, `","metadata":{`...)
		if annotations != "" {
			dst = append(append(dst, annotations...), ',')
		}
		dst = appendRevision(dst, rev)
		return append(dst, "}}"...)
	}
	if s.kind != "" {
		dst = s.appendPartial(dst)
	} else {
		dst = appendType(dst, r.Kind, r.APIVersion())
	}
	dst = append(dst, `,"metadata":{`...)
	dst = appendRevision(dst, rev)
	if annotations != "" {
		dst = append(append(dst, ','), annotations...)
	}
	dst = append(dst, '}')
	if s.kind == "" {
		dst = append(dst, emptyRest[r.APIVersion()+" "+r.Kind]...)
	}
	return append(dst, '}')
}

// bookmarkAnnotations returns the annotations of a bookmark as JSON, "" for none. An empty DaemonSet has one already.
func bookmarkAnnotations(r *watchlog.Resource, initial bool, s shape) string {
	empty := s.kind == "" && derivedOf(r) == derivedOfDaemonSets
	switch {
	case empty && initial:
		return `"annotations":{"deprecated.daemonset.template.generation":"0","k8s.io/initial-events-end":"true"}`
	case empty:
		return `"annotations":{"deprecated.daemonset.template.generation":"0"}`
	case initial:
		return `"annotations":{"k8s.io/initial-events-end":"true"}`
	default:
		return ""
	}
}

func appendRevision(dst []byte, rev uint64) []byte {
	dst = append(dst, `"resourceVersion":"`...)
	dst = strconv.AppendUint(dst, rev, 10)
	return append(dst, '"')
}

// expiredSince is what a watch gets that can't go on from after: apiserver pkg/storage/cacher/watch_cache_history.go,
// or etcd's text for what kube-apiserver reads from there. oldest is the first position to watch from.
func expiredSince(r *watchlog.Resource, after, oldest uint64) error {
	if direct(r) {
		return apierrors.NewResourceExpired(expiredWatch)
	}
	return apierrors.NewResourceExpired("too old resource version: " + strconv.FormatUint(after, 10) +
		" (" + strconv.FormatUint(oldest, 10) + ")")
}
