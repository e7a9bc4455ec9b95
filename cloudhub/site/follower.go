package site

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Source is where the objects come from.
type Source interface {
	// Open returns the log of a resource and a function to call when it is no longer needed. The log may not be ready yet.
	Open(ctx context.Context, gr schema.GroupResource) (*watchlog.Log, func(), error)
}

// follower brings all that happens in one resource to a table.
type follower struct {
	source Source
	gr     schema.GroupResource
	into   table
}

// table takes in the objects of one resource.
type table interface {
	// replace takes in all of them: what it has beside them is gone.
	replace(objects []*watchlog.Object)
	// put takes in a new version.
	put(o *watchlog.Object)
	// remove takes note that one is gone.
	remove(o *watchlog.Object)
}

// retryDelay is how long to wait before a log is opened again.
const retryDelay = 2 * time.Second

// sayEvery is how often it is said that a resource can't be followed, for one reason.
const sayEvery = time.Minute

// run follows the resource until ctx ends. While it can't, the table stays as it is, and lost is called with why, and
// whether that is to be said.
func (f *follower) run(ctx context.Context, lost func(gr schema.GroupResource, err error, say bool)) {
	var said string
	var at time.Time
	for ctx.Err() == nil {
		err := f.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		say := err.Error() != said || time.Since(at) >= sayEvery
		if say {
			said, at = err.Error(), time.Now()
		}
		lost(f.gr, err, say)
		select {
		case <-ctx.Done():
		case <-time.After(retryDelay):
		}
	}
}

// follow follows one log until it ends. It fails when the log can't be opened or read, or is closed.
func (f *follower) follow(ctx context.Context) error {
	log, release, err := f.source.Open(ctx, f.gr)
	if err != nil {
		return fmt.Errorf("open %s: %w", f.gr, err)
	}
	defer release()
	select {
	case <-log.Ready():
	case <-log.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	snap, wake := log.Snapshot(), make(watchlog.Signal, 1)
	reader, err := snap.NewReader(wake)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.gr, err)
	}
	defer reader.Close()
	var all []*watchlog.Object
	for o := range snap.All("") {
		all = append(all, o)
	}
	f.into.replace(all)
	for {
		if err := f.read(reader); err != nil {
			return fmt.Errorf("read %s: %w", f.gr, err)
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read takes in all that there is to read.
func (f *follower) read(r *watchlog.Reader) error {
	for buf := make([]*watchlog.Event, 0, 64); ; {
		page, err := r.Read(buf)
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			if e.Type == watchlog.Deleted {
				f.into.remove(e.Object)
				continue
			}
			f.into.put(e.Object)
		}
		if !page.More && len(page.Events) == 0 {
			return nil
		}
	}
}
