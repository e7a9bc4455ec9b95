package litesrv

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// freshWait is how long a read waits for a revision that the store has not reached (apiserver pkg/storage/cacher,
// blockTimeout).
const freshWait = 3 * time.Second

// errBeyond marks a read of a position that has left the window, or that the cloud may have and the log does not.
type errBeyond struct {
	*apierrors.StatusError
	live bool // the cloud can be asked
}

// Unwrap gives the answer for a client that can't be helped otherwise.
func (e errBeyond) Unwrap() error { return e.StatusError }

// ready waits for the first sync of a resource that may have been asked for just now. A log that was closed meanwhile
// is not read from: what it held may mean nothing any more, and another may take its place.
func (s *Server) ready(ctx context.Context, l *watchlog.Log) error {
	select {
	case <-l.Done():
		return initializing()
	default:
	}
	if l.IsReady() {
		return nil
	}
	timeout := time.NewTimer(s.freshWait)
	defer timeout.Stop()
	select {
	case <-l.Ready():
		return nil
	case <-l.Done():
		return initializing()
	case <-ctx.Done():
		return ctx.Err()
	case <-timeout.C:
		return initializing()
	}
}

// reach waits until the log is at rev, unless kube-apiserver would not. retrySeconds is what a client is told that waits in
// vain; 0, which tells it nothing, is for reads from etcd.
func (s *Server) reach(ctx context.Context, q *read, rev uint64, retrySeconds int32) error {
	l := q.log
	if l.Rev() >= rev {
		return nil
	}
	if direct(l.Resource()) || retrySeconds == 0 && (!q.alone || s.cfg.Prover == nil) {
		return s.reachAtOnce(ctx, q, rev, retrySeconds)
	}
	short, cancel := context.WithTimeout(ctx, s.freshWait)
	defer cancel()
	s.hasten(short, l, rev)
	err := l.WaitRev(short, rev)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return tooLarge(rev, l.Rev(), retrySeconds)
	default:
		return initializing() // the log was closed; another may take its place
	}
}

// reachAtOnce is reach for what kube-apiserver reads from etcd, where a revision is there or is not. The log may be a moment
// behind, so it is brought to what the cloud has of the part; what it does not reach by that is the cloud's to answer. When
// that can't be had there is nothing but the wait, for who has a log with bookmarks.
func (s *Server) reachAtOnce(ctx context.Context, q *read, rev uint64, retrySeconds int32) error {
	l := q.log
	_, lost := l.Lost()
	if s.cfg.Prover != nil && !lost {
		minRev := rev
		if q.part == (Part{}) {
			minRev = 0 // it is the content that is to come, not the position: that may take long
		}
		short, cancel := context.WithTimeout(ctx, s.freshWait)
		defer cancel()
		_, _ = s.cfg.Prover.Prove(short, l.Resource().GroupVersionResource(), q.part, minRev) // the log tells what has come of it
		_, lost = l.Lost()
	}
	switch {
	case l.Rev() >= rev:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return errBeyond{tooLarge(rev, l.Rev(), retrySeconds), !lost && !q.alone}
	}
}

// exactly returns the state at rev, which may be ahead of the log by a moment.
func (s *Server) exactly(ctx context.Context, q *read, rev uint64, retrySeconds int32) (watchlog.Snapshot, error) {
	l := q.log
	if wraps(rev) && direct(l.Resource()) {
		return watchlog.Snapshot{}, wrapped(rev, l.Rev())
	}
	if err := s.reach(ctx, q, rev, retrySeconds); err != nil {
		return watchlog.Snapshot{}, err
	}
	snap, err := l.SnapshotAt(rev)
	if errors.Is(err, watchlog.ErrCompacted) {
		_, lost := l.Lost()
		return snap, errBeyond{apierrors.NewResourceExpired(expiredList), !lost && !q.alone}
	}
	return snap, err
}

// atLeast returns the newest state once that is at rev or later.
func (s *Server) atLeast(ctx context.Context, q *read, rev uint64, retrySeconds int32) (watchlog.Snapshot, error) {
	if err := s.reach(ctx, q, rev, retrySeconds); err != nil {
		return watchlog.Snapshot{}, err
	}
	return q.log.Snapshot(), nil
}
