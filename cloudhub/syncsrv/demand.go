package syncsrv

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// maxDemand is how many resources an edge may want on demand. Edges know it too.
const maxDemand = 500

// readDemand returns the resources that an edge says it wants, each once.
func readDemand(resources []*tombolov1.Resource) ([]schema.GroupResource, error) {
	if len(resources) > maxDemand {
		return nil, status.Errorf(codes.InvalidArgument, "%d resources are wanted, %d may be", len(resources), maxDemand)
	}
	out := make([]schema.GroupResource, 0, len(resources))
	for _, r := range resources {
		gr := groupResource(r)
		if !slices.Contains(out, gr) {
			out = append(out, gr)
		}
	}
	return out, nil
}

// wanted returns the resources that the edge is to have: those of its scope that it has in any case, and those that it
// wants of the others that its scope offers. What it wants in vain is returned apart.
func (s *session) wanted(sc scope.Scope) (want, vain []schema.GroupResource) {
	want = sc.Resources()
	for _, gr := range s.demand {
		switch {
		case slices.Contains(want, gr):
		case sc.Offers(gr):
			want = append(want, gr)
		default:
			vain = append(vain, gr)
		}
	}
	return want, vain
}

// demanded takes over what the edge wants from now on.
func (s *session) demanded(ctx context.Context, d *tombolov1.Demand) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !allow(&s.wants, demandRate, demandBurst) {
		return status.Error(codes.ResourceExhausted, "the edge wants something else again and again")
	}
	var err error
	if s.demand, err = readDemand(d.GetResources()); err != nil {
		return err
	}
	sc := s.scope
	want, vain := s.wanted(sc)
	if err := s.withdraw(want, "the edge wants it no longer"); err != nil {
		return err
	}
	s.dropInputs()
	for _, gr := range want {
		if !slices.ContainsFunc(s.subs, func(u *subscription) bool { return u.gr == gr }) {
			s.log.Info("resource wanted by the edge", "resource", gr)
			s.add(ctx, gr, sc, position{})
		}
	}
	return s.decline(vain)
}

// withdraw ends the subscriptions to what is not in want.
func (s *session) withdraw(want []schema.GroupResource, reason string) error {
	var gone []*subscription
	var keep []*subscription // not in place: who calls us may be looking at them
	for _, u := range s.subs {
		if slices.Contains(want, u.gr) {
			keep = append(keep, u)
		} else {
			gone = append(gone, u)
		}
	}
	s.subs = keep
	for _, u := range gone {
		u.close()
		s.forgetDemand(u.gr)
		if err := s.unsubscribe(u.gr, reason); err != nil {
			return err
		}
	}
	return nil
}

// decline tells the edge that it can't have what it wants.
func (s *session) decline(vain []schema.GroupResource) error {
	for _, gr := range vain {
		if !slices.Contains(s.demand, gr) {
			continue // told already
		}
		s.forgetDemand(gr)
		if err := s.unsubscribe(gr, "it is not in the edge's scope"); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) forgetDemand(gr schema.GroupResource) {
	delete(s.held, gr)
	s.demand = slices.DeleteFunc(slices.Clone(s.demand), func(d schema.GroupResource) bool { return d == gr })
}

// add begins a subscription.
func (s *session) add(ctx context.Context, gr schema.GroupResource, sc scope.Scope, have position) {
	u := s.newSubscription(gr, sc, have)
	s.subs = append(s.subs, u)
	u.open(ctx)
}

// onDemand tells whether the edge has the resource only because it wants it.
func (u *subscription) onDemand() bool { return u.scope.Offers(u.gr) }

// refusable tells whether a failure means that the edge is told no, so that it can go elsewhere at once: it wants the
// resource and holds nothing of it that would be lost. A view that leaves nothing of the resource is not in the scope.
func (u *subscription) refusable(err error) bool {
	return u.onDemand() && (u.have == position{} || errors.Is(err, scope.ErrOutside))
}

// refuse ends the subscription to what the edge wants.
func (u *subscription) refuse(reason string) error {
	u.close()
	u.s.subs = slices.DeleteFunc(slices.Clone(u.s.subs), func(other *subscription) bool { return other == u })
	u.s.forgetDemand(u.gr)
	return u.s.unsubscribe(u.gr, reason)
}
