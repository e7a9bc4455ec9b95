package kube

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// markSeconds is how long the watch lasts that is opened for its bookmark. kube-apiserver sends a bookmark two seconds
// before a watch's end, in steps of a second (apiserver pkg/storage/cacher, bookmarkWatchers), so it comes after 1 to 2.5
// seconds.
const markSeconds = 3

// errNoMark is a watch that ended without a bookmark as late as needed.
var errNoMark = errors.New("the API server did not say that nothing has happened")

// advance takes the log to a revision that the cloud has reached, on a resource on which nothing happens, and returns its
// position. All that wait for that share one watch.
func (f *feed) advance(ctx context.Context, rev uint64) (uint64, error) {
	if f.resource.Name == "events" {
		// They are watched without a cache, so without bookmarks.
		if at, ok := f.reached(rev); ok {
			return at, nil
		}
		return 0, errNoMark
	}
	for range 2 { // a watch that was under way already may have had its bookmark before rev
		if at, ok := f.reached(rev); ok {
			return at, nil
		}
		if _, err := f.proofs.marks.Join(ctx, struct{}{}, rev); err != nil {
			return 0, err
		}
	}
	if at, ok := f.reached(rev); ok {
		return at, nil
	}
	return 0, errNoMark
}

// mark opens a second watch at the log's position and takes the position of its bookmark over: what that watch showed
// before it is all that happened up to there, so once the log has the last of that, from its own watch, it is as far.
//
// That holds whatever becomes of the log's own watch meanwhile: the log's state at a position is the cloud's at that
// revision, however it got there.
func (f *feed) mark(ctx context.Context, _ struct{}, want func() uint64) (struct{}, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	last := f.entries.Rev()
	body, err := f.client.Get().Resource(f.resource.Name).
		Param("watch", "true").Param("allowWatchBookmarks", "true").Param("resourceVersion", formatRev(last)).
		Param("timeoutSeconds", fmt.Sprint(markSeconds)).SetHeader("Accept", acceptMetadata).Stream(ctx)
	if err != nil {
		return struct{}{}, fmt.Errorf("watch of %s for its bookmark: %w", f.gr, err)
	}
	w := &frames{ctx: ctx, cancel: cancel, body: body, r: bufio.NewReaderSize(body, 16<<10)}
	defer w.Close()
	for f.entries.Rev() < want() {
		kind, rev, err := w.position()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return struct{}{}, nil // advance looks how far it came
		case err != nil:
			return struct{}{}, fmt.Errorf("watch of %s for its bookmark: %w", f.gr, err)
		case kind != watch.Bookmark:
			last = max(last, rev)
		default:
			if err := f.entries.WaitRev(ctx, last); err != nil {
				return struct{}{}, err
			}
			if err := f.store.prove(last, rev); err != nil {
				return struct{}{}, err
			}
		}
	}
	return struct{}{}, nil
}

// position waits for the next event and returns its type and revision.
func (f *frames) position() (watch.EventType, uint64, error) {
	line, err := f.line()
	if err != nil {
		return "", 0, err
	}
	kind, raw, err := splitFrame(line)
	if err != nil {
		return "", 0, err
	}
	if kind == watch.Error {
		s := &metav1.Status{}
		if err := json.Unmarshal(raw, s); err != nil {
			return "", 0, fmt.Errorf("error event: %w", err)
		}
		return "", 0, apierrors.FromObject(s)
	}
	var o metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &o); err != nil {
		return "", 0, fmt.Errorf("event: %w", err)
	}
	rev, err := parseRev(o.ResourceVersion)
	return kind, rev, err
}
