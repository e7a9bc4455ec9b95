package litesrv

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

const (
	// bookmarkEvery is the longest time between two bookmarks; it is shortened at random by up to bookmarkEarly, so that
	// watches that began together don't stay together.
	bookmarkEvery = time.Minute
	bookmarkEarly = 3 * time.Second
	// bookmarkBefore is how long before its end a watch gets its last bookmark.
	bookmarkBefore = 2 * time.Second
	// checkEvery is how often a stream without bookmarks looks up from its waiting.
	checkEvery = time.Hour
)

// nextBookmark returns when the next bookmark is due (apiserver pkg/storage/cacher/cache_watcher.go); zero when the
// watch ends before.
func nextBookmark(now, deadline time.Time) time.Time {
	due := now.Add(bookmarkEvery - rand.N(bookmarkEarly)) //nolint:gosec // spreads load, keeps no secret
	if last := deadline.Add(-bookmarkBefore); last.Before(due) {
		due = last
	}
	if !due.After(now) {
		return time.Time{}
	}
	return due
}

// schedule sets when the next bookmark is due. Watches that kube-apiserver has etcd serve get none in between.
func (t *stream) schedule(now time.Time) {
	if !direct(t.res) {
		t.due = nextBookmark(now, t.deadline)
	}
}

// beat adds a bookmark when one is due.
func (t *stream) beat(now time.Time) {
	if !t.due.IsZero() && !now.Before(t.due) {
		t.bookmark(now)
	}
}

// bookmark tells the client how far it is, unless it doesn't care or could not resume from there.
func (t *stream) bookmark(now time.Time) {
	t.schedule(now)
	if !t.bookmarks || t.inside {
		return
	}
	t.loose = false
	t.put(t.frames.appendBookmark(*t.out.buffer(), t.pos, false))
}

// set sees to it that the timer wakes the stream when it must look up from its waiting. Too early is no harm, so a timer
// that is set is mostly left alone.
func (t *stream) set(timer *time.Timer, now time.Time) {
	next := now.Add(checkEvery)
	if t.bookmarks && !t.due.IsZero() && t.due.Before(next) {
		next = t.due
	}
	if d := t.out.disarmAt(); !d.IsZero() && d.Before(next) {
		next = d
	}
	if t.alarm.After(now) && !t.alarm.After(next) {
		return
	}
	t.alarm = next
	timer.Reset(next.Sub(now))
}

// explain makes an error of the log one for the client.
func (t *stream) explain(err error) error {
	if errors.Is(err, watchlog.ErrCompacted) {
		return expiredSince(t.res, t.pos, t.log.Oldest())
	}
	return err
}
