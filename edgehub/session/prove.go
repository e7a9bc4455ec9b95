package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/round"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Part is a part of a resource. The zero value is all of it.
type Part struct{ Namespace, Name, LabelSelector, FieldSelector string }

const (
	// proofLimit bounds a proof, the way to the hub included.
	proofLimit = 3 * time.Second
	// questionRate and questionBurst bound the questions a second: a hub refuses more than 1,000, with bursts of 2,000. Reads
	// wait rather than be answered without a proof; those of the same part share one question.
	questionRate, questionBurst = 900, 900
	// maxProofs bounds the different parts that proofs are under way of; the hub takes 64 questions at once.
	maxProofs = 64
)

// errNotFollowing is why nothing can be proved: there is no session, or the hub has lost the cloud, or the resource is
// not caught up.
var errNotFollowing = errors.New("the edge does not follow the cloud")

// claim is what a proof is of.
type claim struct {
	gr   schema.GroupResource
	part Part
	// position is set when the log is to come to where the cloud is, whatever the part.
	position bool
}

// newProofs returns the table of the client's proofs.
func (c *Client) newProofs(ctx context.Context) *round.Table[claim, uint64] {
	return round.NewTable(ctx, proofLimit, maxProofs, func(ctx context.Context, cl claim, want func() uint64) (uint64, error) {
		start := time.Now()
		if err := c.questionPace.Wait(ctx); err != nil {
			return 0, fmt.Errorf("no proof: %w", err)
		}
		rev, err := c.ask(ctx, cl, want())
		c.metrics.proved(time.Since(start), err)
		return rev, err
	})
}

// openProofs makes proofs possible until the function that it returns is called.
func (c *Client) openProofs(ctx context.Context) func() {
	ctx, cancel := context.WithCancel(ctx)
	proofs := c.newProofs(ctx)
	c.proofs.Store(proofs)
	return func() {
		c.proofs.Store(nil)
		cancel()
		proofs.Wait()
	}
}

// Prove asks the hub for a proof and returns a position that the log of gvr has reached and at which its objects in the
// part are the cloud's as of some moment since the call. Later positions may have less than that to say: see SnapshotAt of
// the log.
//
// With minRev set it also returns, with the log's position, as soon as that is minRev or later; and when part is all of
// the resource, the proof is that the log has come to minRev or to where the cloud is.
//
// Any number of callers share: of the same part there is at most one question under way, which those who come later take
// no part in, and one behind it. It fails at once while the edge does not follow the cloud, and in 3 seconds at the latest.
func (c *Client) Prove(ctx context.Context, gvr schema.GroupVersionResource, part Part, minRev uint64) (uint64, error) {
	l, err := c.Log(gvr)
	if err != nil {
		return 0, err
	}
	if _, lost := l.Lost(); lost {
		return 0, errNotFollowing
	}
	proofs := c.proofs.Load()
	if proofs == nil {
		return 0, errNotFollowing
	}
	cl := claim{gr: gvr.GroupResource(), part: part, position: minRev > 0 && part == Part{}}
	if minRev == 0 {
		return proofs.Ask(ctx, cl, 0)
	}
	return proveOrReach(ctx, l, minRev, func(ctx context.Context) (uint64, error) {
		if !cl.position {
			return proofs.Ask(ctx, cl, 0)
		}
		return proofs.Ask(ctx, cl, minRev)
	})
}

// proveOrReach returns what prove does, or the log's position when that comes to rev before.
func proveOrReach(
	ctx context.Context, l *watchlog.Log, rev uint64, prove func(context.Context) (uint64, error),
) (uint64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	reached := make(chan struct{})
	go func() {
		defer close(reached)
		if l.WaitRev(ctx, rev) == nil {
			cancel(errReached)
		}
	}()
	at, err := prove(ctx)
	cancel(nil)
	<-reached
	if errors.Is(context.Cause(ctx), errReached) {
		return l.Rev(), nil
	}
	return at, err
}

var errReached = errors.New("the position is reached")

// ask has the session ask the hub, and waits for the answer. A session that takes over is asked again.
func (c *Client) ask(ctx context.Context, cl claim, minRev uint64) (uint64, error) {
	for d := c.desk.Load(); d != nil; {
		rev, err := d.ask(ctx, &asked{claim: cl, minRev: minRev, ctx: ctx, reply: make(chan reply, 1)})
		next := c.desk.Load()
		if !errors.Is(err, errDeskClosed) || next == d {
			return rev, err
		}
		d = next
	}
	return 0, errNotFollowing
}
