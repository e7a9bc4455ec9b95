package litesrv

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

const (
	// minWatch is the least time after which a watch that named none is ended; the most is twice that (kube-apiserver's
	// --min-request-timeout).
	minWatch = 30 * time.Minute
	// longestWatch keeps a timeoutSeconds of any size inside time.Duration.
	longestWatch = 10 * 365 * 24 * time.Hour
)

// watchPlan is how a watch begins.
type watchPlan struct {
	sel    selection
	rev    uint64 // resourceVersion; 0 for none
	unset  bool   // there was no resourceVersion, not even 0
	events bool   // the objects that are there come first
	// marked is set when the end of those is marked by a bookmark.
	marked bool
}

// watch answers with the changes of the selected objects until its time is up, the client leaves, or the log can't serve
// it any further. What goes wrong once the resource is ready is told in the stream, as kube-apiserver does.
func (s *Server) watch(ctx context.Context, q *read, o *listOptions) error {
	rev, err := parseRevision(o.ResourceVersion)
	if err != nil {
		return badRevision(o.ResourceVersion, err)
	}
	timeout := watchTimeout(o)
	deadline := time.Now().Add(timeout)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if err := s.ready(ctx, q.log); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return initializing() // not an empty watch: there is no state to begin it with
		}
		return err
	}
	if q.form.shape.kind == kindTable {
		if err := q.form.shape.table.validate(); err != nil {
			return err
		}
	}
	if !encodings[q.form.encoding].stream {
		return notAcceptable(streamTypes())
	}
	t := newStream(s, q, deadline, o.AllowWatchBookmarks)
	defer t.close()
	initial := o.SendInitialEvents != nil && *o.SendInitialEvents
	plan := watchPlan{
		sel: newSelection(q.res, q.target.namespace, o), rev: rev, unset: o.ResourceVersion == "",
		events: initial || o.SendInitialEvents == nil && rev == 0,
		marked: initial && o.AllowWatchBookmarks,
	}
	t.out.gzip = plan.marked && takesGzip(q.r)
	q.part = partOf(&plan.sel, o)
	snap, err := s.begin(ctx, q, t, &plan)
	if err != nil && t.closed() {
		return initializing()
	}
	if s.handsOn(q, err) {
		return nil
	}
	if err == nil && plan.events {
		if err := t.probe(snap); err != nil {
			return err
		}
	}
	s.sayStale(q, q.log.Rev())
	serve := func(ctx context.Context) {
		t.open(q.form)
		if err != nil {
			t.fail(ctx, err)
			return
		}
		if plan.events {
			t.sendInitial(ctx, snap, plan.marked)
		}
		t.run(ctx)
	}
	if wantsSocket(q.r) {
		return overSocket(ctx, q, t, serve)
	}
	serve(ctx)
	return nil
}

// handsOn has the cloud serve a watch that begins with a state which the cloud may have and the log does not. It returns
// false, and nothing is written, when err says nothing of the kind or the cloud can't.
func (s *Server) handsOn(q *read, err error) bool {
	var beyond errBeyond
	return errors.As(err, &beyond) && beyond.live && s.beyond(q.w, q.r)
}

// begin opens the stream's reader. The snapshot is what the watch starts from, if it starts from one.
func (s *Server) begin(ctx context.Context, q *read, t *stream, p *watchPlan) (watchlog.Snapshot, error) {
	l := q.log
	t.sel = &p.sel
	var snap watchlog.Snapshot
	var err error
	switch {
	case !p.events && p.rev >= math.MaxInt64 && direct(t.res): // etcd is asked for the one behind it
		return snap, expiredSince(t.res, p.rev, l.Oldest())
	case !p.events && p.rev > 0:
		t.pos = p.rev
		t.reader, err = l.NewReader(p.rev, t.wake, p.sel.term(l.Snapshot()))
		if errors.Is(err, watchlog.ErrCompacted) {
			err = expiredSince(t.res, p.rev, l.Oldest())
		}
		return snap, err
	case p.unset:
		snap, err = s.consistent(ctx, q)
	case p.rev > 0 && (!wraps(p.rev) || !direct(t.res)):
		snap, err = s.atLeast(ctx, q, p.rev, tooLargeRetry)
	default:
		snap = l.Snapshot()
	}
	if err != nil {
		return snap, err
	}
	t.pos = snap.Rev()
	t.reader, err = snap.NewReader(t.wake, p.sel.term(snap))
	if errors.Is(err, watchlog.ErrCompacted) {
		err = expiredSince(t.res, snap.Rev(), l.Oldest())
	}
	return snap, err
}

// watchTimeout returns how long a watch may last.
func watchTimeout(o *listOptions) time.Duration {
	if o.TimeoutSeconds == nil || *o.TimeoutSeconds == 0 {
		return minWatch + rand.N(minWatch) //nolint:gosec // spreads reconnects, keeps no secret
	}
	if *o.TimeoutSeconds > int64(longestWatch/time.Second) {
		return longestWatch
	}
	return time.Duration(max(-1, *o.TimeoutSeconds)) * time.Second
}
