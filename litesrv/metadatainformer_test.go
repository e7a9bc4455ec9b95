package litesrv

import (
	"context"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// TestMetadataInformers runs informers of nothing but metadata, like TestInformers. They ask for protobuf first.
func TestMetadataInformers(t *testing.T) {
	w := newWorld(t, 100)
	logs := []*watchlog.Log{w.load(configmaps), w.load(widgets)}
	q := &queries{Handler: w.server(), seen: map[string]int{}}
	ts := serve(t, q, false)
	client, err := metadata.NewForConfig(&rest.Config{Host: ts.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running, writers sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var informers []cache.SharedIndexInformer
	for i, l := range logs {
		writers.Go(func() { scribble(w, l, 1000, uint64(i)) })
		c := client.Resource(l.Resource().GroupVersionResource())
		informer := cache.NewSharedIndexInformer(&cache.ListWatch{
			ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return c.List(ctx, o) },
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return c.Watch(ctx, o) },
		}, &metav1.PartialObjectMetadata{}, 0, cache.Indexers{})
		running.Go(func() { informer.RunWithContext(ctx) })
		informers = append(informers, informer)
	}
	for _, informer := range informers {
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			t.Fatal("never synced")
		}
	}
	ts.CloseClientConnections()
	writers.Wait()
	for i, l := range logs {
		agrees(t, l.Resource().Name, informers[i].GetStore(), l, everything)
		for _, o := range informers[i].GetStore().List() {
			if _, ok := o.(*metav1.PartialObjectMetadata); !ok {
				t.Fatalf("%T", o)
			}
		}
	}
	if q.count("watch list") < len(logs) || q.count("exact list") < len(logs) || q.count("list") > 0 ||
		q.count("in protobuf") < 2*len(logs) {
		t.Errorf("%v", q.seen)
	}
}
