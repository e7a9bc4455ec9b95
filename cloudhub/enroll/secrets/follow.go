package secrets

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/tombolo-sync/tombolo/cloudhub/enroll"
)

// Follow calls set with all revocations whenever they change, first when they have been read, until ctx ends. While the API
// server is away, what was read before stays in force. What can't be read is reported to failed, and leaves all as it is.
func (r *Register) Follow(ctx context.Context, set func([]enroll.Revocation), failed func(error)) {
	var store cache.Store
	var informer cache.Controller
	tell := func() {
		if !informer.HasSynced() {
			return // not all of them are there yet
		}
		if all, err := decodeAll(store); err != nil {
			failed(err)
		} else {
			set(all)
		}
	}
	store, informer = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewFilteredListWatchFromClient(r.client.RESTClient(), "secrets", r.space, func(o *metav1.ListOptions) {
			o.LabelSelector = label + "=" + revocation
		}),
		ObjectType: &corev1.Secret{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { tell() }, UpdateFunc: func(any, any) { tell() }, DeleteFunc: func(any) { tell() },
		},
	})
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { informer.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		tell()
	}
	<-ctx.Done()
}

func decodeAll(store cache.Store) ([]enroll.Revocation, error) {
	objects := store.List()
	out := make([]enroll.Revocation, len(objects))
	for i, o := range objects {
		s, ok := o.(*corev1.Secret)
		if !ok {
			return nil, fmt.Errorf("%T: %w", o, errNoSecret)
		}
		if err := decode(s, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
