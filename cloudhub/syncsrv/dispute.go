package syncsrv

import (
	"context"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// isBlind tells whether the log's source has lost sight of the cloud. The cloud may be put back to a backup then, and an edge
// that comes from another hub have gone on with that: what such an edge holds is not to be corrected by this log.
func (u *subscription) isBlind() bool {
	_, lost := u.log.Lost()
	return lost
}

// dispute puts a reconcile off until the log follows the cloud again: the log and an edge of the same view say different
// things, and nobody knows which of them the cloud does. The edge keeps what it has and says that it may be behind. If it
// knows other hubs it tries them, see the pulse of its session.
func (u *subscription) dispute() error {
	if u.phase == live {
		u.have.rev = u.sentRev
	}
	u.letGoReader()
	u.renumber() // what is under way from the edge is of before
	u.phase, u.sentRev, u.stepOpen = disputed, u.have.rev, false
	reader, err := u.log.Snapshot().NewReader(u, u.view.Terms()...)
	if err != nil {
		return u.fail(err)
	}
	u.reader = reader
	u.Wake() // it may have followed before there was a reader
	u.s.log.Warn("the hub has lost the cloud, and the edge holds something else", "resource", u.gr, "edge", u.have.rev, "hub", u.log.Rev())
	return u.announce(tombolov1.Plan_PLAN_WAIT, "the hub has lost sight of the cloud, and disagrees with the edge")
}

// settle makes a new plan once the log follows the cloud again, or is closed.
func (u *subscription) settle(ctx context.Context) error {
	u.dirty.Store(false)
	if _, err := u.reader.Read(u.s.buf); err != nil {
		return u.interrupted(ctx, err)
	}
	if u.isBlind() {
		return nil
	}
	return u.plan(ctx)
}
