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

// listMetadata lists as an informer does. client-go leaves a kind in the items of a JSON list, other than in protobuf
// and in watches, which its own check of each WatchList takes for a difference; kube-apiserver sends the same bytes.
func listMetadata(ctx context.Context, c metadata.ResourceInterface, o metav1.ListOptions) (runtime.Object, error) {
	l, err := c.List(ctx, o)
	if err != nil {
		return nil, err
	}
	for i := range l.Items {
		l.Items[i].TypeMeta = metav1.TypeMeta{}
	}
	return l, nil
}

// TestMetadataInformers runs informers of nothing but metadata, like TestInformers.
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
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return listMetadata(ctx, c, o)
			},
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
	if q.count("watch list") < len(logs) || q.count("exact list") < len(logs) || q.count("list") > 0 {
		t.Errorf("%v", q.seen)
	}
}
