package kube

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// definitions are the objects that decide which resources the API has.
var definitions = []schema.GroupVersionResource{
	{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
}

const (
	acceptMetadata     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	acceptMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// changes follows the metadata of one kind of definition and signals that something changed. It keeps no objects. It
// is a reflector's store, called from one goroutine.
type changes [2]chan<- struct{} // buffered by one: a signal that is already there says it all

func (c changes) notify() error {
	for _, signal := range c {
		select {
		case signal <- struct{}{}:
		default:
		}
	}
	return nil
}

// Add signals.
func (c changes) Add(any) error { return c.notify() }

// Update signals.
func (c changes) Update(any) error { return c.notify() }

// Delete signals.
func (c changes) Delete(any) error { return c.notify() }

// Replace signals.
func (c changes) Replace([]any, string) error { return c.notify() }

// Resync does nothing.
func (c changes) Resync() error { return nil }

// followDefinitions runs until ctx ends. Where the hub may not watch them, the periodic refresh has to do.
func (k *Kube) followDefinitions(ctx context.Context, gvr schema.GroupVersionResource) error {
	client, err := k.api.client(gvr.GroupVersion())
	if err != nil {
		return err
	}
	r := &watchlog.Resource{
		Group: gvr.Group, Version: gvr.Version, Name: gvr.Resource, Kind: "PartialObjectMetadata",
	}
	lw := &listWatch{
		client: client, resource: r, dec: watchlog.NewDecoder(r),
		listAccept: acceptMetadataList, watchAccept: acceptMetadata,
		health: definitionHealth{k.log.With("resource", r.GroupResource().String())}, relist: &relist{},
	}
	k.runReflector(ctx, r, lw, changes{k.changed, k.specChanged})
	return nil
}

// reflectorBackoff is how long a reflector waits after a failure. client-go's own goes up to a minute, which is how long edges
// would lag behind an API server that is back; a hub is one client, not thousands.
var reflectorBackoff = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 10, Cap: 5 * time.Second}

// runReflector blocks until ctx ends.
func (k *Kube) runReflector(ctx context.Context, r *watchlog.Resource, lw *listWatch, store cache.ReflectorStore) {
	name := r.GroupResource().String()
	cache.NewReflectorWithOptions(lw.lister(), nil, store, cache.ReflectorOptions{
		Logger: &k.klog, Name: name, TypeDescription: name, Backoff: &reflectorBackoff,
	}).RunWithContext(klog.NewContext(ctx, k.klog))
}

// definitionHealth only logs: nobody depends on these watches.
type definitionHealth struct{ log *slog.Logger }

func (h definitionHealth) requestFailed(err error) {
	h.log.Debug("definitions can't be followed", "error", err)
}
func (h definitionHealth) resuming(context.Context) {}

func (h definitionHealth) resumed()   {}
func (h definitionHealth) redefined() {}

func (h definitionHealth) rewound(error) {}
