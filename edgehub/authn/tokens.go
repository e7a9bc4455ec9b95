package authn

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/tombolo-sync/tombolo/internal/access"
)

const (
	// goodFor and badFor are how long the cloud's word about a token counts (apiserver pkg/server/options: the cache of a webhook
	// for tokens, and its failures).
	goodFor = 2 * time.Minute
	badFor  = 10 * time.Second
	// offlineFor is how long counts what was found without the cloud.
	offlineFor = 10 * time.Second
	// reviewWait is how long a request waits for the cloud's word.
	reviewWait = 3 * time.Second
	// maxVerdicts bounds how many tokens are remembered.
	maxVerdicts = 4096
	// reviewRate and reviewBurst bound what strangers with made-up tokens can send over the link, in reviews a second.
	reviewRate, reviewBurst = 10, 50
)

// errUnreachable means that the cloud's word about a token can't be had.
var errUnreachable = errors.New("the cloud can't be asked")

// Reviewer asks the cloud about tokens.
type Reviewer interface {
	// Review returns the user of a token. An error that wraps errUnreachable says nothing about the token, any other that it is
	// not good.
	Review(ctx context.Context, token string) (*access.User, error)
}

// Tokens knows users by the cloud's tokens: the cloud's word counts while it can be had, then what the token's signature says. It
// is safe for concurrent use.
type Tokens struct {
	reviewer Reviewer  // nil: never asked
	verifier *Verifier // without the cloud
	logger   *slog.Logger
	limit    *rate.Limiter
	asking   singleflight.Group // one question for each token

	mu    sync.Mutex // guards known
	known map[[sha256.Size]byte]verdict
}

// verdict is what was found about a token a while ago.
type verdict struct {
	user  *access.User
	err   error // why there is no user
	until time.Time
	held  bool // what the token is bound to was here
}

// NewTokens returns what knows the tokens of the cloud. reviewer may be nil.
func NewTokens(reviewer Reviewer, verifier *Verifier, logger *slog.Logger) *Tokens {
	return &Tokens{
		reviewer: reviewer, verifier: verifier, logger: logger, limit: rate.NewLimiter(reviewRate, reviewBurst),
		known: map[[sha256.Size]byte]verdict{},
	}
}

func (t *Tokens) user(ctx context.Context, token string) (*access.User, error) {
	if t == nil {
		return nil, errors.New("tokens are not taken here")
	}
	key := sha256.Sum256([]byte(token))
	t.mu.Lock()
	v, ok := t.known[key]
	t.mu.Unlock()
	if ok && time.Now().Before(v.until) && (!v.held || t.verifier.bound(token) == nil) {
		return v.user, v.err
	}
	ctx = context.WithoutCancel(ctx) // others wait for the same
	found, _, _ := t.asking.Do(string(key[:]), func() (any, error) {
		v := t.judge(ctx, token)
		t.remember(key, v)
		return v, nil
	})
	v = found.(verdict)
	return v.user, v.err
}

func (t *Tokens) remember(key [sha256.Size]byte, v verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= maxVerdicts {
		clear(t.known)
	}
	t.known[key] = v
}

// judge finds out about a token.
func (t *Tokens) judge(ctx context.Context, token string) verdict {
	now := time.Now()
	user, err := t.review(ctx, token)
	switch {
	case err == nil:
		v := verdict{user: user, until: now.Add(goodFor), held: t.verifier.holds(token)}
		if end, ok := expiry(token); ok && end.Before(v.until) {
			v.until = end
		}
		return v
	case !errors.Is(err, errUnreachable):
		return verdict{err: err, until: now.Add(badFor)}
	}
	user, offline := t.verifier.Verify(token)
	if offline != nil {
		return verdict{err: fmt.Errorf("%w; %w", err, offline), until: now.Add(offlineFor)}
	}
	return verdict{user: user, until: now.Add(offlineFor)}
}

func (t *Tokens) review(ctx context.Context, token string) (*access.User, error) {
	if t.reviewer == nil {
		return nil, errUnreachable
	}
	if !t.limit.Allow() {
		t.logger.Warn("too many unknown tokens: they are verified without the cloud")
		return nil, fmt.Errorf("%w about so many tokens", errUnreachable)
	}
	ctx, cancel := context.WithTimeout(ctx, reviewWait)
	defer cancel()
	return t.reviewer.Review(ctx, token)
}
