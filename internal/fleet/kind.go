package fleet

import (
	"sync"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// kind is what a resource is, once for all edges to which hubs describe it alike.
type kind struct {
	gr      schema.GroupResource
	decoder *watchlog.Decoder
}

// kinds are all that were described.
type kinds struct {
	mu    sync.Mutex
	known map[string]*kind // by resource and description; guarded by mu
}

// maxKinds bounds the descriptions that the fleet takes; a cluster has some hundred resources.
const maxKinds = 10_000

// get returns the kind of a resource with a description.
func (k *kinds) get(gr schema.GroupResource, info *tombolov1.ResourceInfo) (*kind, error) {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(info)
	if err != nil {
		return nil, err
	}
	id := gr.String() + "\x00" + string(raw)
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.known[id]; known != nil {
		return known, nil
	}
	if len(k.known) >= maxKinds {
		return nil, nonsense("more than %d descriptions of resources", maxKinds)
	}
	fresh := &kind{gr: gr, decoder: watchlog.NewDecoder(resourceOf(gr, info))}
	k.known[id] = fresh
	return fresh, nil
}

func resourceOf(gr schema.GroupResource, info *tombolov1.ResourceInfo) *watchlog.Resource {
	return &watchlog.Resource{
		Group: gr.Group, Version: info.GetVersion(), Name: gr.Resource, Kind: info.GetKind(), ListKind: info.GetListKind(),
		Namespaced: info.GetNamespaced(), Custom: info.GetCustom(),
	}
}

func groupResource(r *tombolov1.Resource) schema.GroupResource {
	return schema.GroupResource{Group: r.GetGroup(), Resource: r.GetResource()}
}
