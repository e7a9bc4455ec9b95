package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// retryRefused is how long a refusal stands before an Open asks the API server again.
const retryRefused = 5 * time.Second

// Open returns the log of a resource, which all callers share, and a function that gives it back. The first Open starts
// to follow the resource; when Config.IdleAfter has passed without a user, its log is closed with ErrIdle.
//
// The log may not be Ready yet. It is closed with ErrRedefined or ErrUnknownResource when the resource changes or
// disappears, and with ErrRewound when the cloud was restored from a backup; then it may be opened again. A cloud that
// can't be reached or refuses later on does not close it: Status tells.
//
// Open fails with ErrUnknownResource, ErrNotWatchable, ErrUnordered, ErrStopped, or what the API server says (an
// apierrors.APIStatus: forbidden, unauthorized). A refusal is repeated for 5 seconds without asking again. While the API
// server has never been reached Open waits, until ctx ends.
func (k *Kube) Open(ctx context.Context, gr schema.GroupResource) (*watchlog.Log, func(), error) {
	if err := k.awaitStart(ctx, gr); err != nil {
		return nil, nil, err
	}
	f, err := k.acquire(gr) //nolint:contextcheck // a feed lives as long as Run, not as who asked first
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", gr, err)
	}
	select {
	case <-f.ready:
		err = f.err
	case <-ctx.Done():
		err = fmt.Errorf("open %s: %w", gr, ctx.Err())
	}
	if err != nil {
		k.release(f)
		return nil, nil, err
	}
	return f.entries, sync.OnceFunc(func() { k.release(f) }), nil
}

// Held is an Open that does not wait: it returns false unless the log is open and ready.
func (k *Kube) Held(gr schema.GroupResource) (*watchlog.Log, func(), bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.feeds[gr]
	if f == nil || k.stopping || !f.isOpen() || !f.entries.IsReady() {
		return nil, nil, false
	}
	f.users++
	f.keep()
	return f.entries, sync.OnceFunc(func() { k.release(f) }), true
}

func (k *Kube) awaitStart(ctx context.Context, gr schema.GroupResource) error {
	select {
	case <-k.started:
		return nil
	case <-ctx.Done():
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.startErr == nil {
			return fmt.Errorf("open %s: the API server was not reached yet: %w", gr, ctx.Err())
		}
		return fmt.Errorf("open %s: the API server can't be used yet: %w (%w)", gr, ctx.Err(), k.startErr)
	}
}

// acquire returns the resource's feed, with one user more. It starts one if there is none, or an old refusal.
func (k *Kube) acquire(gr schema.GroupResource) (*feed, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopping || k.runCtx.Err() != nil {
		return nil, source.ErrStopped
	}
	f := k.feeds[gr]
	if f == nil || !f.failed.IsZero() && time.Since(f.failed) >= retryRefused {
		if f != nil {
			f.keep()
		}
		f = k.startFeedLocked(gr)
	}
	f.users++
	f.keep()
	return f, nil
}

func (k *Kube) startFeedLocked(gr schema.GroupResource) *feed {
	ctx, cancel := context.WithCancelCause(k.runCtx)
	f := &feed{
		kube: k, gr: gr, log: k.log.With("resource", gr.String()), cancel: cancel, ready: make(chan struct{}),
		events: k.metrics.events.WithLabelValues(gr.String()),
	}
	k.feeds[gr] = f
	k.tasks.Add(1)
	go func() {
		defer k.tasks.Done()
		defer cancel(nil)
		f.run(ctx)
	}()
	return f
}

// release takes one user away.
func (k *Kube) release(f *feed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f.users--
	if f.users == 0 && k.feeds[f.gr] == f {
		f.idle = time.AfterFunc(k.cfg.IdleAfter, func() { k.expire(f) })
	}
}

// keep stops the idle timer. Kube.mu is held.
func (f *feed) keep() {
	if f.idle != nil {
		f.idle.Stop()
		f.idle = nil
	}
}

// expire ends a feed whose idle time has passed, unless somebody came meanwhile.
func (k *Kube) expire(f *feed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f.users == 0 && k.feeds[f.gr] == f {
		delete(k.feeds, f.gr)
		f.cancel(source.ErrIdle)
	}
}

// stop ends a feed: its log is closed with cause, and the next Open starts another.
func (k *Kube) stop(f *feed, cause error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f.keep()
	if k.feeds[f.gr] == f {
		delete(k.feeds, f.gr)
	}
	f.cancel(cause)
}

// refused keeps a feed that could not be opened, so that Status tells why and the next Opens need not ask. Names that
// mean nothing are not kept: there is no end of them.
func (k *Kube) refused(f *feed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f.failed = time.Now()
	if errors.Is(f.err, source.ErrUnknownResource) && k.feeds[f.gr] == f {
		delete(k.feeds, f.gr)
	}
}
