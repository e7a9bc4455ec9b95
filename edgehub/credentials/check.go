package credentials

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tombolo-sync/tombolo/internal/pki"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// check asks a hub what has changed, over the link of the session: without one there is no hurry.
func (k *Keeper) check(ctx context.Context) {
	i := k.cfg.Identity
	k.checkAt = time.Now().Add(linkWait)
	link := k.cfg.Link()
	if link == nil && k.untilDue() > 0 && !i.clock.now().Before(i.current.Load().leaf().NotBefore) {
		return
	}
	var answer *tombolov1.CheckResponse
	err := k.call(ctx, false, func(ctx context.Context, c tombolov1.JoinServiceClient) (err error) {
		answer, err = c.Check(ctx, &tombolov1.CheckRequest{AuthoritiesHash: pki.Hash(i.current.Load().authorities)})
		return err
	})
	switch {
	case ctx.Err() != nil:
		return
	case status.Code(err) == codes.Unimplemented: // the hub leaves certificates to others
		k.checkAt = time.Now().Add(longestCheck)
	case status.Code(err) == codes.Unauthenticated: // by the hub's clock it has expired
		k.early, k.sameKey = true, true
	case err != nil:
		k.checkAt = time.Now().Add(maxRetry)
		k.cfg.Logger.Debug("no hub says whether authorities have changed", "err", err)
	default:
		k.checked(answer)
	}
}

// checked takes over what a hub said.
func (k *Keeper) checked(a *tombolov1.CheckResponse) {
	i := k.cfg.Identity
	i.clock.set(a.GetTimeMs())
	every := min(max(time.Duration(a.GetIntervalMs())*time.Millisecond, time.Second), longestCheck)
	k.checkAt = time.Now().Add(every*9/10 + rand.N(every/5+1)) //nolint:gosec // likewise
	k.early = k.early || a.GetRenew()
	if len(a.GetAuthorities()) == 0 {
		return
	}
	authorities, err := parse(a.GetAuthorities())
	if err == nil {
		err = i.trust(authorities)
	}
	if err != nil {
		k.cfg.Logger.Error("authorities of hubs could not be taken over", "err", err)
		return
	}
	k.cfg.Logger.Info("authorities of hubs replaced", "count", len(authorities))
}

// call makes a call over the session's link, or else over connections of its own to the hubs in turn.
func (k *Keeper) call(ctx context.Context, apart bool, do func(context.Context, tombolov1.JoinServiceClient) error) error {
	if link := k.cfg.Link(); link != nil && !apart {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return do(ctx, tombolov1.NewJoinServiceClient(link))
	}
	var errs []error
	for _, hub := range k.cfg.Hubs {
		err := k.callHub(ctx, hub, do)
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("hub %s: %w", hub, err))
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

func (k *Keeper) callHub(ctx context.Context, hub string, do func(context.Context, tombolov1.JoinServiceClient) error) error {
	conn, err := dial(hub, k.cfg.Identity.Transport())
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing is under way any more
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return do(ctx, tombolov1.NewJoinServiceClient(conn))
}
