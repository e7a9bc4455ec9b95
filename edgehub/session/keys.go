package session

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc/credentials"
)

// keys are what connections are opened with, and what they are to be opened with from now on.
type keys struct {
	turn chan struct{} // has room for the one Renew that goes on
	wake chan struct{} // has room for one signal: there is a proposal

	mu       sync.Mutex
	held     credentials.TransportCredentials // guarded by mu
	proposal *renewal                         // nil when there is none; guarded by mu
}

// renewal is a wish for other credentials.
type renewal struct {
	keys  *keys
	creds credentials.TransportCredentials
	done  chan error // has room for the outcome; nil: a hub has taken them
}

func newKeys(creds credentials.TransportCredentials) keys {
	return keys{turn: make(chan struct{}, 1), wake: make(chan struct{}, 1), held: creds}
}

// Renew has every new connection use other credentials, and the session that is open go over to one, without a gap: what
// is open stays open until a hub has welcomed the edge with them. It returns nil then. While there is no hub it waits for
// one. It fails with the error of ctx, or when a hub refuses the credentials for a reason that time won't mend; then the
// credentials are what they were, and the session was not touched. Calls that are under way go on for an hour at most.
func (c *Client) Renew(ctx context.Context, creds credentials.TransportCredentials) error {
	k := &c.keys
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return fmt.Errorf("renew: another one is under way: %w", ctx.Err())
	}
	r := &renewal{keys: k, creds: creds, done: make(chan error, 1)}
	k.propose(r)
	select {
	case k.wake <- struct{}{}:
	default: // a signal is waiting already
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
	}
	if k.settle(r, ctx.Err()) {
		return fmt.Errorf("renew: %w", ctx.Err())
	}
	return <-r.done
}

func (k *keys) propose(r *renewal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.proposal = r
}

// current returns what to open a connection with, and the proposal that it is of.
func (k *keys) current() (credentials.TransportCredentials, *renewal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.proposal != nil {
		return k.proposal.creds, k.proposal
	}
	return k.held, nil
}

// renews tells whether there is a proposal other than r, which a connection was opened with.
func (k *keys) renews(r *renewal) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.proposal != nil && k.proposal != r
}

// settle ends a proposal, if it goes on, and takes the credentials over unless err says why not.
func (k *keys) settle(r *renewal, err error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r == nil || k.proposal != r {
		return false
	}
	k.proposal = nil
	if err == nil {
		k.held = r.creds
	}
	r.done <- err
	return true
}

// taken notes that a hub has welcomed the edge with the credentials.
func (r *renewal) taken() {
	if r != nil {
		r.keys.settle(r, nil)
	}
}

// failed notes that an attempt with the credentials has come to nothing. A reason that time won't mend ends the proposal.
func (r *renewal) failed(err error) {
	if r != nil && refusal(err) {
		r.keys.settle(r, fmt.Errorf("renew: %w: %s", ErrRefused, reason(err)))
	}
}
