package litesrv

import (
	"encoding/json"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Frames are the lines of a watch in JSON: {"type":"ADDED","object":{…}}.
const (
	frameAdded    = `{"type":"ADDED","object":`
	frameModified = `{"type":"MODIFIED","object":`
	frameDeleted  = `{"type":"DELETED","object":`
	frameBookmark = `{"type":"BOOKMARK","object":`
	frameError    = `{"type":"ERROR","object":`
	frameEnd      = "}\n"
)

// appendAdded appends the frame of an object that was there when the watch began.
func appendAdded(dst []byte, o *watchlog.Object, s shape) []byte {
	dst = s.appendObject(append(dst, frameAdded...), o, o.Rev())
	return append(dst, frameEnd...)
}

// appendEvent appends what a watch of the selection is sent of an event, which may be nothing. An object that is no
// longer selected is sent as deleted: its previous bytes with the event's resourceVersion.
func appendEvent(dst []byte, e *watchlog.Event, sel *selection, s shape) []byte {
	is := e.Type != watchlog.Deleted && sel.matches(e.Object)
	was := e.Prev != nil && sel.matches(e.Prev)
	switch {
	case is && was:
		dst = s.appendObject(append(dst, frameModified...), e.Object, e.Object.Rev())
	case is:
		dst = s.appendObject(append(dst, frameAdded...), e.Object, e.Object.Rev())
	case was:
		dst = s.appendObject(append(dst, frameDeleted...), e.Prev, e.Shown)
	default:
		return dst
	}
	return append(dst, frameEnd...)
}

// appendBookmark appends a bookmark: an empty object of the resource's kind with nothing but a resourceVersion. initial
// marks the one that ends the initial events.
func appendBookmark(dst []byte, r *watchlog.Resource, rev uint64, initial bool, s shape) []byte {
	const annotations = `"annotations":{"k8s.io/initial-events-end":"true"}`
	dst = append(dst, frameBookmark...)
	if r.Custom && s.kind == "" {
		dst = append(dst, `{"apiVersion":"`...)
		dst = append(dst, r.APIVersion()...)
		dst = append(dst, `","kind":"`...)
		dst = append(dst, r.Kind...)
		dst = append(dst, `","metadata":{`...)
		if initial {
			dst = append(append(dst, annotations...), ',')
		}
		dst = appendRevision(dst, rev)
		return append(append(dst, "}}"...), frameEnd...)
	}
	if s.kind != "" {
		dst = s.appendPartial(dst)
	} else {
		dst = appendType(dst, r.Kind, r.APIVersion())
	}
	dst = append(dst, `,"metadata":{`...)
	dst = appendRevision(dst, rev)
	if initial {
		dst = append(append(dst, ','), annotations...)
	}
	dst = append(dst, '}')
	if s.kind == "" {
		dst = append(dst, emptyRest[r.APIVersion()+" "+r.Kind]...)
	}
	return append(append(dst, '}'), frameEnd...)
}

func appendRevision(dst []byte, rev uint64) []byte {
	dst = append(dst, `"resourceVersion":"`...)
	dst = strconv.AppendUint(dst, rev, 10)
	return append(dst, '"')
}

// appendError appends the frame that ends a watch with an error.
func appendError(dst []byte, err error) []byte {
	raw, jsonErr := json.Marshal(statusOf(err))
	if jsonErr != nil {
		panic(jsonErr) // a Status has nothing that can't be encoded
	}
	dst = append(append(dst, frameError...), raw...)
	return append(dst, frameEnd...)
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
