package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// feed is one resource in use: a reflector and the log that it fills. It has one goroutine, which Kube owns.
type feed struct {
	kube   *Kube
	gr     schema.GroupResource
	log    *slog.Logger
	cancel context.CancelCauseFunc // ends the goroutine; the cause is what the log is closed with

	ready chan struct{} // closed when err or all of resource, client, entries, store and proofs are set
	err   error         // why the resource could not be opened
	// These are set before ready is closed and not changed afterwards.
	resource *watchlog.Resource
	client   rest.Interface
	entries  *watchlog.Log
	store    *logStore
	proofs   *proofs

	generation int64 // of the CRD that the state was last read under; recheck's once ready is closed

	events     prometheus.Counter
	condition  condition
	resumption resumption

	// Guarded by Kube.mu:
	users  int
	idle   *time.Timer // runs while there are no users; nil otherwise
	failed time.Time   // when err was set; zero when there is none
}

// run opens the resource and follows it until ctx ends.
func (f *feed) run(ctx context.Context) {
	d, err := f.kube.describe(ctx, f.gr)
	if err != nil {
		f.refuse(ctx, err)
		return
	}
	r := d.resource
	f.resource, f.client, f.entries = r, d.client, watchlog.New(r, f.kube.cfg.Window)
	f.store, f.generation = &logStore{log: f.entries, relist: &relist{}, events: f, past: &past{}}, d.generation
	f.proofs = f.newProofs(ctx)
	close(f.ready)
	f.log.Info("following a resource", "version", r.Version, "custom", r.Custom)

	lw := &listWatch{
		client: d.client, resource: r, dec: f.entries.Decoder(), printer: d.printer,
		listAccept: mediaJSON, watchAccept: mediaJSON, health: f, relist: f.store.relist,
		past: f.store.past, cluster: f.kube.sameCluster,
	}
	if d.printer != nil {
		lw.listAccept, lw.watchAccept = acceptTable, acceptTable
	}
	f.kube.runReflector(ctx, r, lw, f.store)
	f.resumption.tasks.Wait()
	f.proofs.wait()

	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		cause = source.ErrStopped // Run's context; whoever ends a single feed gives a reason
	}
	f.entries.Close(cause)
	f.kube.metrics.forget(f.gr.String())
	f.log.Info("stopped following a resource", "reason", cause)
}

// refuse ends a feed that could not be opened.
func (f *feed) refuse(ctx context.Context, err error) {
	if ctx.Err() != nil {
		err = source.ErrStopped
	}
	f.err = err
	f.condition.set(refused, err)
	f.kube.refused(f)
	close(f.ready)
}

// isOpen tells whether the resource has been opened with success.
func (f *feed) isOpen() bool {
	select {
	case <-f.ready:
		return f.err == nil
	default:
		return false
	}
}

// requestFailed hears that a list or watch could not be opened or broke.
func (f *feed) requestFailed(err error) {
	f.kube.metrics.failures.WithLabelValues(f.gr.String()).Inc()
	f.store.past.doubt()
	f.resumption.end(func() { f.entries.SetLost(time.Now()) })
	if f.condition.set(failing, err) {
		f.log.Warn("resource can't be followed, trying again", "error", err, "rev", f.entries.Rev())
	}
	if apierrors.IsNotFound(err) {
		f.kube.definitionsChanged()
	}
}

// resumed hears that a watch goes on from the log's position.
func (f *feed) resumed() { f.live() }

// redefined hears that the resource's table has other columns than it had.
func (f *feed) redefined() {
	f.kube.stop(f, fmt.Errorf("%s: %w: columns", f.gr, source.ErrRedefined))
}

// stored hears that an event of the watch was committed.
func (f *feed) stored() { f.events.Inc() }

// replaced hears that the whole state was read; delta events took the log there.
func (f *feed) replaced(objects, delta int, first bool) {
	f.kube.metrics.relists.WithLabelValues(f.gr.String()).Inc()
	if !first {
		f.log.Info("resource was read again", "objects", objects, "changes", delta, "rev", f.entries.Rev())
	}
	f.live()
}

// lost hears that an event could not be stored.
func (f *feed) lost(err error) {
	f.resumption.end(func() { f.entries.SetLost(time.Now()) })
	f.condition.set(failing, err)
	f.log.Error("what the cloud said does not fit the log, reading everything again", "error", err)
}

// rewound hears that the cloud is behind the log, which can only mean that it was restored from a backup.
func (f *feed) rewound(err error) {
	f.log.Error("the cloud's revision went back", "error", err)
	f.kube.stop(f, err)
}

// live notes that the log follows the cloud.
func (f *feed) live() {
	f.resumption.end(f.entries.SetFollowing)
	f.sayLive()
}

func (f *feed) sayLive() {
	if f.condition.set(live, nil) {
		f.log.Info("resource is live", "rev", f.entries.Rev(), "objects", f.entries.Snapshot().Len())
	}
}
