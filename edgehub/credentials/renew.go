package credentials

import (
	"context"
	"crypto"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// renewNow tries to renew the certificate.
func (k *Keeper) renewNow(ctx context.Context) {
	i := k.cfg.Identity
	err := k.renew(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		k.renewed.WithLabelValues("failed").Inc()
		wait := min(minRetry<<min(k.failures, 20), maxRetry, max(time.Until(i.NotAfter())/10, minRetry*10))
		wait = wait/2 + rand.N(wait/2+1) //nolint:gosec // likewise
		k.failures++
		k.retryAt = time.Now().Add(wait)
		k.cfg.Logger.Warn("the certificate could not be renewed", "not_after", i.NotAfter(), "err", err, "retry", wait.Round(time.Second))
		return
	}
	k.renewed.WithLabelValues("renewed").Inc()
	k.cfg.Logger.Info("certificate renewed", "serial", i.Serial(), "not_after", i.NotAfter())
	k.begin()
}

// begin begins with another certificate.
func (k *Keeper) begin() {
	k.failures, k.early, k.sameKey, k.next, k.share = 0, false, false, nil, rand.Float64() //nolint:gosec // likewise
	// Even a hub that signs certificates that are due at once, or of an old authority, is not asked without a pause.
	k.retryAt = time.Now().Add(minRetry)
	if k.cfg.Rotated != nil {
		k.cfg.Rotated()
	}
}

// renew gets another certificate: for a new key, unless the one in force has expired, in which case a hub takes no other.
func (k *Keeper) renew(ctx context.Context) error {
	i := k.cfg.Identity
	m := i.current.Load()
	key := m.key
	expired := !i.clock.now().Before(m.leaf().NotAfter)
	if !expired && !k.sameKey {
		var err error
		if key, err = k.nextKey(); err != nil {
			return err
		}
	}
	der, err := request(key)
	if err != nil {
		return err
	}
	var answer *tombolov1.RenewResponse
	err = k.call(ctx, expired, func(ctx context.Context, c tombolov1.JoinServiceClient) (err error) {
		answer, err = c.Renew(ctx, &tombolov1.RenewRequest{Request: der})
		return err
	})
	if err != nil {
		k.sameKey = k.sameKey || status.Code(err) == codes.PermissionDenied
		return err
	}
	next, err := receive(answer.GetCredential(), key, i.Edge())
	if err != nil {
		return err
	}
	i.clock.set(answer.GetCredential().GetTimeMs())
	k.next = nil // in force, or not good for anything
	return i.replace(next)
}

// nextKey returns the key to renew for: a new one, unless there is one that no answer has come for.
func (k *Keeper) nextKey() (crypto.Signer, error) {
	if k.next == nil {
		key, err := k.cfg.Identity.folder.keys().New()
		if err != nil {
			return nil, err
		}
		k.next = key
	}
	return k.next, nil
}
