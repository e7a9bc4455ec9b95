package syncsrv

import (
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/runtime/schema"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// welcome answers a Hello. What can be resumed as it stands is resumed by that.
func (s *session) welcome(hello *tombolov1.Hello) error {
	s.epoch = s.srv.cfg.Source.Epoch()
	if s.epoch == "" {
		return status.Error(codes.Unavailable, "the hub is starting: it does not know its cluster yet")
	}
	w := &tombolov1.Welcome{
		Version: Version, Epoch: s.epoch, Software: s.srv.cfg.Software, Capabilities: s.can.list(),
		ProgressIntervalMs: uint32(s.srv.cfg.ProgressInterval / time.Millisecond), //nolint:gosec // seconds
	}
	s.scope = s.srv.cfg.Scopes.For(s.edge)
	want, _ := s.wanted(s.scope)
	if s.can.resumed && s.srv.cfg.Held != nil {
		s.resumeHeld(hello, s.scope, want, w)
	}
	if len(w.GetResumed()) > 0 && hello.GetEpoch() == s.epoch {
		w.Epoch = ""
	}
	for _, gr := range want {
		if s.subscribed(gr) == nil {
			w.Scope = append(w.Scope, &tombolov1.Resource{Group: gr.Group, Resource: gr.Resource})
		}
	}
	s.log.Debug("welcome", "held", len(hello.GetPositions()), "resumed", len(w.GetResumed()), "agreed", len(w.GetAgreed()))
	return s.send(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Welcome{Welcome: w}})
}

// subscribed returns the subscription to a resource, nil when there is none.
func (s *session) subscribed(gr schema.GroupResource) *subscription {
	i := slices.IndexFunc(s.subs, func(u *subscription) bool { return u.gr == gr })
	if i < 0 {
		return nil
	}
	return s.subs[i]
}
