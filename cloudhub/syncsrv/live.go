package syncsrv

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// stepLive sends the next page of events. An edge that is far behind is sent all of them too, as long as the window has them,
// rather than the newest version of each object: that would be a gap, and watchers at the edge would miss what the hub
// could have told them. It would not save much, either: as patches in a frame, events take some 50 bytes each, so that an
// object must have changed a dozen times before it costs less whole. Of what has left the window, the newest versions are
// all there is (PLAN_CHANGES).
func (u *subscription) stepLive(ctx context.Context) (bool, error) {
	page, err := u.reader.Read(u.s.buf)
	if err != nil {
		return true, u.interrupted(ctx, err)
	}
	if slices.ContainsFunc(page.Events, func(e *watchlog.Event) bool { return e.Late && e.Type != watchlog.Deleted }) {
		return true, u.compare()
	}
	r := u.run(page)
	if r.err != nil {
		u.have.rev = u.sentRev
		return true, u.fail(r.err)
	}
	gapFrom, upto, more := uint64(0), page.Rev, false
	if !page.Gap.Empty() {
		gapFrom, more = page.Gap.From, page.Rev < page.Gap.To
	} else if r.ops > 0 {
		more = r.last > page.Rev
	}
	ends := !more && (u.stepOpen || gapFrom != 0 && u.sentRev < upto)
	if r.ops > 0 || ends {
		if err := u.sendRun(r, batch{upto: upto, more: more, gapFrom: gapFrom}); err != nil {
			return false, err
		}
		u.stepOpen, u.checked.fresh = more, false
	}
	if r.ops > 0 && !more || ends {
		u.sentRev = upto
	}
	u.readRev = upto
	busy := page.More
	if !busy && u.resumed {
		u.resumed = false
		return false, u.check(time.Now()) // the edge takes itself for caught up once they agree
	}
	return busy, nil
}

// compare asks the edge for its inventory: the log has put something at a position that the edge has passed, where a
// message that says so could not be told from a replayed one. A late deletion can: Events that expire with one etcd lease
// are deleted at one revision, and an edge takes deletions at its position.
func (u *subscription) compare() error {
	u.have.rev = u.sentRev
	u.letGoReader()
	u.renumber()
	u.phase = awaiting
	return u.announce(tombolov1.Plan_PLAN_RECONCILE, "")
}

// interrupted goes on after the reader could not: from what the edge has by then.
func (u *subscription) interrupted(ctx context.Context, err error) error {
	u.have.rev = u.sentRev
	u.renumber()
	if errors.Is(err, watchlog.ErrCompacted) {
		return u.plan(ctx)
	}
	if errors.Is(err, apidoc.ErrUnknownResource) {
		// The source has made sure that the resource is gone, as when its CRD was deleted: no reason to wait.
		u.unknownSince = time.Now().Add(-u.s.srv.cfg.ForgetAfter)
		return u.fail(err)
	}
	u.rewound = u.rewound || errors.Is(err, source.ErrRewound)
	u.s.log.Info("resource interrupted", "resource", u.gr, "reason", err)
	u.open(ctx)
	return nil
}

// run is what a page of events has the edge do. What lies in a gap is never a patch: the edge may have begun the step in
// another session, or another hub the gap at another version.
func (u *subscription) run(page watchlog.Page) *run {
	f := form{patches: u.s.can.patches && page.Gap.Empty(), frames: u.s.can.frames}
	if len(u.whole) > 0 {
		return u.projection.newRun(page.Events, f, u.whole)
	}
	return u.projection.run(page, f)
}

// tickLive reports the position when it moved without an event for the edge, and compares digests when it is time.
func (u *subscription) tickLive(ctx context.Context, now time.Time, p *tombolov1.Progress) error {
	if u.s.full() {
		return nil
	}
	advance, check := u.advanceDue(now), !now.Before(u.checkAt)
	if !advance && !check {
		return nil
	}
	// A reader is not woken by what it doesn't want: it has to look how far the log has come.
	if busy, err := u.stepLive(ctx); busy || err != nil {
		u.Wake()
		return err
	}
	if advance {
		u.advance(now, p)
	}
	if !check {
		return nil
	}
	return u.check(now)
}

// check sends the digest of what the edge should hold. When the state at that position is not to be had any more, the
// next tick will do.
func (u *subscription) check(now time.Time) error {
	if u.stepOpen {
		return nil
	}
	d, _, err := u.projection.at(u.sentRev)
	if err != nil {
		return nil //nolint:nilerr // the log has moved on, which is no fault
	}
	u.checkAt = now.Add(u.s.srv.cfg.CheckInterval)
	if u.checked == (checked{d, true}) {
		return nil // the edge would compare what it has compared
	}
	u.checked = checked{d, true}
	return u.checkpoint(u.sentRev, d)
}

func (u *subscription) checkpoint(rev uint64, d delta.Digest) error {
	return u.s.send(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Checkpoint{
		Checkpoint: &tombolov1.Checkpoint{
			Subscription: u.id, Rev: rev, Count: d.Count, Digest: d.Bytes(), Lost: u.loss(),
		},
	}})
}

// loss tells since when the log's source has lost sight of the cloud, nil while it follows.
func (u *subscription) loss() *tombolov1.Loss {
	since, lost := u.log.Lost()
	if !lost {
		return nil
	}
	age := max(0, time.Since(since).Milliseconds())
	return &tombolov1.Loss{Subscription: u.id, AgeMs: uint64(age)} //nolint:gosec // not negative
}
