package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/edgehub/demand"
	"github.com/tombolo-sync/tombolo/edgehub/store"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

const (
	// infoDemand is the name under which the store keeps what the edge holds on demand.
	infoDemand = "on-demand"
	// saveParts is into how many parts the time of expiry is cut: so exact are the times of use on disk.
	saveParts = 24
)

// Demand returns the log of a resource that the edge does not hold yet, once it is ready. The first call asks the hub for
// the resource, and the edge remembers that it is wanted; any number of callers may wait. It fails with the error of ctx,
// with apidoc.ErrUnknownResource when the resource is held in another version, and with the errors of package demand: when
// there is no hub, when the edge can't have the resource, and when somebody has waited for it until a deadline already.
func (c *Client) Demand(ctx context.Context, gvr schema.GroupVersionResource) (*watchlog.Log, error) {
	gr := gvr.GroupResource()
	if l := c.firstState(gr); l != nil {
		return c.Log(gvr)
	}
	if c.isAwaited(gr) {
		return nil, fmt.Errorf("%s: %w", gr, demand.ErrPending) // it comes in any case
	}
	fresh, err := c.wishes.Want(gr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", gr, err)
	}
	if fresh {
		if err := c.cfg.Store.Update(c.saveWishes); err != nil {
			c.wishes.Forget(gr)
			return nil, fmt.Errorf("%s: note that it is wanted: %w", gr, err)
		}
		c.log.Info("resource wanted", "resource", gr)
		c.metrics.demands.WithLabelValues("wanted").Inc()
		c.wishes.Announce()
	}
	if err := c.awaitFirstState(ctx, gr); err != nil {
		return nil, fmt.Errorf("%s: %w", gr, err)
	}
	return c.Log(gvr)
}

// awaitFirstState waits until a resource that is wanted is there.
func (c *Client) awaitFirstState(ctx context.Context, gr schema.GroupResource) error {
	for {
		changed, err := c.wishes.Changed(gr)
		switch {
		case c.firstState(gr) != nil:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				c.wishes.Late(gr)
			}
			return ctx.Err()
		}
	}
}

// firstState returns the log of a resource, in whatever version, once it is ready.
func (c *Client) firstState(gr schema.GroupResource) *watchlog.Log {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if r := c.replicas[gr]; r != nil && r.log.IsReady() {
		return r.log
	}
	return nil
}

// isAwaited tells whether a resource is on its way that the edge is to have in any case.
func (c *Client) isAwaited(gr schema.GroupResource) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, awaited := c.awaited[gr]
	return awaited
}

// isComing tells whether a log is that of a resource on demand whose first state is not in: nobody need wait for it.
func (c *Client) isComing(l *watchlog.Log) bool {
	return !l.IsReady() && c.wishes.Has(l.Resource().GroupResource())
}

// loadWishes restores what is wanted.
func (c *Client) loadWishes() error {
	text, err := c.cfg.Store.Info(infoDemand)
	if err != nil {
		return err
	}
	return c.wishes.Decode(text, c.lastHeard())
}

func (c *Client) saveWishes(tx *store.Tx) error {
	text, err := c.wishes.Encode()
	if err != nil {
		return err
	}
	return tx.SetInfo(infoDemand, text)
}

// wishes returns what the edge wants, and has apply told when that changes.
func (s *session) wishes() []*tombolov1.Resource {
	var all []*tombolov1.Resource
	var want []schema.GroupResource
	want, s.wanted = s.c.wishes.Resources()
	for _, gr := range want {
		all = append(all, &tombolov1.Resource{Group: gr.Group, Resource: gr.Resource})
	}
	return all
}

// sendDemand tells the hub what the edge wants.
func (s *session) sendDemand() error {
	return s.stream.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Demand{
		Demand: &tombolov1.Demand{Resources: s.wishes()},
	}})
}

// unsubscribed forgets a resource that the hub has withdrawn, and that it was wanted.
func (s *session) unsubscribed(gr schema.GroupResource, reason string) error {
	if s.c.wishes.Refuse(gr, reason) {
		s.c.log.Info("resource refused", "resource", gr, "reason", reason)
		s.c.metrics.demands.WithLabelValues("refused").Inc()
		if err := s.c.cfg.Store.Update(s.c.saveWishes); err != nil {
			return fmt.Errorf("%s: note that it is refused: %w", gr, err)
		}
	}
	return s.drop(gr, reason)
}

// tidy lets go of what nobody has used for long. The hub then withdraws it, unless the edge has it in any case: what is
// under way comes to its end before the data goes.
func (s *session) tidy(now time.Time) error {
	grain, expiry := s.c.wishes.Grain(), s.c.cfg.OnDemandExpiry
	if now.Sub(s.tidied) < grain {
		return nil
	}
	s.tidied = now
	gone := s.c.wishes.Expired(s.c.isWatched)
	for _, gr := range gone {
		s.c.log.Info("resource no longer wanted", "resource", gr, "reason", "nobody has used it for "+expiry.String())
		s.c.metrics.demands.WithLabelValues("expired").Inc()
		s.c.wishes.Forget(gr)
	}
	if len(gone) == 0 && !s.c.wishes.Unsaved(max(grain, expiry/saveParts)) {
		return nil
	}
	if err := s.c.cfg.Store.Update(s.c.saveWishes); err != nil {
		return fmt.Errorf("note what is wanted: %w", err)
	}
	if len(gone) > 0 {
		s.c.wishes.Announce()
	}
	return nil
}

// isWatched tells whether a resource has an open watch.
func (c *Client) isWatched(gr schema.GroupResource) bool {
	l := c.firstState(gr)
	return l != nil && l.HasReaders()
}

// noteEnd stores, at the end of a session, when the hub was last heard of and what was used.
func (s *session) noteEnd(tx *store.Tx) error {
	if err := s.noteContact(tx); err != nil {
		return err
	}
	return s.c.saveWishes(tx)
}
