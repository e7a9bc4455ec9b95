package syncsrv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// reachAgain is how long a log may take to a position that an edge has seen before the cloud is asked again.
const reachAgain = 5 * time.Second

// errAhead is an edge that has seen what the cloud has not reached, as a consistent read says: the cloud was restored
// from a backup.
var errAhead = errors.New("the cloud has gone back to before what the edge has seen")

// waitFor waits until the log has reached a position that the edge has seen already: another replica of the hub was
// further, or the cloud has gone back.
func (u *subscription) waitFor(ctx context.Context, rev uint64) error {
	u.phase = opening
	u.opens++
	this, log := u.opens, u.log
	u.s.srv.wg.Go(func() {
		err := u.s.srv.reach(ctx, u.gr, log, rev)
		u.s.post(func(ctx context.Context) error {
			if ctx.Err() != nil || this != u.opens {
				return ctx.Err()
			}
			return u.reached(ctx, rev, err)
		})
	})
	return u.announce(tombolov1.Plan_PLAN_WAIT,
		fmt.Sprintf("the hub has seen the cloud up to %d, the edge up to %d", log.Rev(), rev))
}

// reached goes on after a waitFor that has come to err.
func (u *subscription) reached(ctx context.Context, rev uint64, err error) error {
	switch {
	case err == nil:
		return u.plan(ctx)
	case errors.Is(err, errAhead):
		u.s.log.Warn("the edge is ahead of the cloud, which was restored", "resource", u.gr, "edge", rev, "hub", u.log.Rev())
		u.rewound = true
		return u.plan(ctx)
	case errors.Is(err, source.ErrRewound):
		u.rewound = true
		u.open(ctx)
		return nil
	default:
		return u.fail(err)
	}
}

// reach takes a log to a position that an edge has seen. It returns errAhead when a consistent read of the cloud says
// that it is not there, and otherwise goes on until the log is there, is closed, or ctx ends.
func (s *Server) reach(ctx context.Context, gr schema.GroupResource, log *watchlog.Log, rev uint64) error {
	for {
		at, err := s.hasten(ctx, gr, rev)
		if err == nil && at < rev && log.Rev() < rev {
			return errAhead
		}
		short, cancel := context.WithTimeout(ctx, reachAgain)
		err = log.WaitRev(short, rev)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
	}
}

// hasten asks the source to take its log to a position that an edge has seen already, and returns where it is then: there
// or, when the cloud is not, where the cloud is.
func (s *Server) hasten(ctx context.Context, gr schema.GroupResource, rev uint64) (uint64, error) {
	if s.cfg.Prover == nil {
		return 0, errNoProver
	}
	ctx, cancel := context.WithTimeout(ctx, proofLimit)
	defer cancel()
	at, err := s.cfg.Prover.Prove(ctx, gr, source.Part{}, rev)
	if err != nil {
		s.log.Debug("a position that an edge has seen is not reached yet", "resource", gr, "rev", rev, "err", err)
	}
	return at, err
}
