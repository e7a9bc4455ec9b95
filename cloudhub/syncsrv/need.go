package syncsrv

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

const (
	// maxNeeded is how many keys a Need may have.
	maxNeeded = 4096
	// needRate and needBurst bound the Needs of an edge, and how often it may disagree, per second: each costs a look at
	// all that the edge holds.
	needRate, needBurst = 50, 200
)

// mayNeed tells whether the edge has not asked for too much, or disagreed too often.
func (s *session) mayNeed() bool {
	return allow(&s.needs, needRate, needBurst)
}

// need goes back to where the edge is, to send it all behind that again, some objects whole. Of a subscription that is
// not live, another announcement is under way, against which the edge holds its position.
func (s *session) need(ctx context.Context, n *tombolov1.Need) error {
	u := s.sub(n.GetSubscription())
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case len(n.GetKeys()) > maxNeeded:
		return status.Errorf(codes.InvalidArgument, "a Need of more than %d objects", maxNeeded)
	case !s.mayNeed():
		return status.Error(codes.ResourceExhausted, "the edge can't make use of the hub's patches")
	case u == nil || u.phase != live:
		return nil
	}
	s.srv.metrics.needs.Add(float64(len(n.GetKeys())))
	s.log.Info("the edge asks for objects whole", "resource", u.gr, "from", n.GetRev(), "objects", len(n.GetKeys()))
	u.have.rev = min(n.GetRev(), u.sentRev)
	u.renumber()
	u.whole = make(map[string]struct{}, len(n.GetKeys()))
	for _, key := range n.GetKeys() {
		u.whole[key] = struct{}{}
	}
	return u.plan(ctx)
}
