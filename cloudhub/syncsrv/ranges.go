package syncsrv

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// partial is a reconcile of some parts of a resource: those in which the edge's sums are not the hub's.
type partial struct {
	*state
	sums  delta.Ranges
	parts delta.Parts
}

// wholeAttempt is the attempt that asks for all parts, in case that sums agree which are of different objects.
const wholeAttempt = 3

// ranges asks the edge for its inventory of the parts that differ, or ends the catch-up when none do.
func (u *subscription) ranges(m *tombolov1.Ranges) error {
	if u.phase != live && u.phase != awaiting && u.phase != confirming {
		return nil // the plan has changed meanwhile, and with it the id: not for us
	}
	if err := u.mayDisagree(); err != nil {
		return err
	}
	if u.isBlind() && u.have.rev > 0 && u.have.view == u.view.Hash() {
		return u.dispute()
	}
	theirs, err := delta.ParseRanges(m.GetSums())
	if err != nil {
		return status.Errorf(codes.InvalidArgument, "%s: ranges: %v", u.gr, err)
	}
	if err := u.disagreed(m.GetReason()); err != nil {
		return err
	}
	if err := u.interruptLive(); err != nil {
		return err
	}
	c, err := u.newCatchup()
	if err != nil {
		return u.fail(err)
	}
	sums := make(delta.Ranges, len(theirs))
	for o := range u.projection.held(c.snap) {
		c.digest.AddRanged(sums, o)
	}
	parts := sums.Differ(theirs)
	if u.attempts >= wholeAttempt {
		parts = delta.AllParts(sums)
	}
	if parts.Len() == 0 {
		u.start(&c.catchup, reconciling)
		return nil
	}
	u.letGoReader()
	u.phase, u.partial = awaiting, &partial{c, sums, parts}
	return u.s.send(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_RangeNeed{
		RangeNeed: &tombolov1.RangeNeed{Subscription: u.id, Parts: parts},
	}})
}

// reconcileParts begins to send what differs between the inventory of the parts that were asked for and what the edge is
// to hold of them.
func (u *subscription) reconcileParts() error {
	p, stock := u.partial, u.stock
	u.partial = nil
	for o := range u.projection.held(p.snap) {
		if p.parts.Has(p.sums.Part(o.Key())) {
			item := stock.take(o.Key())
			if item == nil || item.GetHash() != delta.HashOf(o) {
				p.objects = append(p.objects, o)
			}
		}
	}
	p.drop(stock)
	u.start(&p.catchup, reconciling)
	return nil
}

func (s *session) ranges(ctx context.Context, m *tombolov1.Ranges) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if u := s.sub(m.GetSubscription()); u != nil {
		return u.ranges(m)
	}
	return nil
}
