package litesrv

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
	"github.com/tombolo-sync/tombolo/litesrv/kinds"
)

// errUnproducible is returned for an object that can't be encoded in protobuf without losing some of it, errElsewhere for
// a request that the cloud can answer in protobuf and this server can't.
var (
	errUnproducible = errors.New("litesrv: can't be encoded in protobuf")
	errElsewhere    = errors.New("litesrv: the cloud has this in protobuf")
)

// protobufs encodes objects in protobuf and remembers of which kinds it can't. It is used by any number of goroutines.
type protobufs struct {
	log   *slog.Logger
	cache *messageCache
	held  atomic.Int64 // bytes of messages that lists hold on to, see holdLimit

	mu sync.RWMutex // guards failed
	// failed has the resources of which there was an object that couldn't be encoded. It stays so while the log is the same:
	// a newer API server writes more of them. Another log has a resource of its own, so it begins without.
	failed map[failedResource]bool
}

// failedResource is the resource of a log in one of its shapes. It is named and not held.
type failedResource struct {
	resource weak.Pointer[watchlog.Resource]
	partial  bool
}

func failedIn(r *watchlog.Resource, s shape) failedResource {
	return failedResource{weak.Make(r), s.kind != ""}
}

func newProtobufs(log *slog.Logger) *protobufs {
	return &protobufs{log: log, cache: newMessageCache(), failed: map[failedResource]bool{}}
}

// can tells whether objects of a resource can be had in protobuf, as far as is known before they are encoded.
func (p *protobufs) can(r *watchlog.Resource, s shape) bool {
	if s.kind == "" && (r.Custom || !kinds.Known(r.APIVersion(), r.Kind)) {
		return false
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return !p.failed[failedIn(r, s)]
}

// message returns the message of an object with rev as its resourceVersion, which must not be changed. Any error wraps
// errUnproducible.
func (p *protobufs) message(r *watchlog.Resource, s shape, o *watchlog.Object, rev uint64) ([]byte, error) {
	key := messageKey{object: weak.Make(o), rev: rev, partial: s.kind != ""}
	message, err := p.cache.get(key, func() ([]byte, error) {
		if s.kind == "" && rev == o.Rev() {
			return encode(r, s, o.JSON())
		}
		scratch := getBuffer()
		defer putBuffer(scratch)
		*scratch = s.appendObject(*scratch, o, rev)
		return encode(r, s, *scratch)
	})
	if err != nil {
		p.giveUp(r, s, err)
	}
	return message, err
}

// bookmark returns the message of a bookmark.
func (p *protobufs) bookmark(r *watchlog.Resource, s shape, rev uint64, initial bool) ([]byte, error) {
	message, err := encode(r, s, appendBookmark(nil, r, rev, initial, s))
	if err != nil {
		p.giveUp(r, s, err)
	}
	return message, err
}

// encode returns the message of an object's JSON, or of the JSON of its metadata.
func encode(r *watchlog.Resource, s shape, raw []byte) (message []byte, err error) {
	if s.kind == "" {
		message, err = kinds.Encode(r.APIVersion(), r.Kind, raw)
	} else {
		message, err = kinds.EncodePartial(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnproducible, err)
	}
	return message, nil
}

// giveUp remembers that a resource can't be encoded, and forgets those that are no more.
func (p *protobufs) giveUp(r *watchlog.Resource, s shape, err error) {
	failed := failedIn(r, s)
	p.mu.Lock()
	known := p.failed[failed]
	if !known {
		maps.DeleteFunc(p.failed, func(f failedResource, _ bool) bool { return f.resource.Value() == nil })
		p.failed[failed] = true
	}
	p.mu.Unlock()
	if !known {
		p.log.Warn("no protobuf of this kind any more", "apiVersion", r.APIVersion(), "kind", r.Kind, "error", err)
	}
}

// typeMeta returns what an object of the resource is in a shape.
func (s shape) typeMeta(r *watchlog.Resource) typeMeta {
	if s.kind != "" {
		return typeMeta{s.apiVersion(), kindPartial}
	}
	return typeMeta{r.APIVersion(), r.Kind}
}
