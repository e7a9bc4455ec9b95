package litesrv

import (
	"iter"
	"slices"
	"strconv"
	"sync"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// page is what one list answers with.
type page struct {
	rev   uint64
	items iter.Seq[*watchlog.Object]
	// next is the token of the page behind this one, "" when there is none.
	next string
	// remaining is how many objects follow; negative when that isn't said.
	remaining int
	held      *[]*watchlog.Object // pooled; nil unless the page is limited
}

// keepHeld bounds the pages whose memory is kept for reuse, in objects.
const keepHeld = 1 << 14

var heldObjects = sync.Pool{New: func() any { return new([]*watchlog.Object) }}

// newPage returns the page that begins where at says. namespace is what the path says, which tokens are relative to.
func newPage(at listing, sel *selection, namespace string) *page {
	p := &page{rev: at.snap.Rev(), remaining: -1}
	all := sel.objects(at.snap, at.from)
	if at.limit == 0 || sel.key != "" {
		p.items = all
		return p
	}
	p.held = heldObjects.Get().(*[]*watchlog.Object)
	objects := (*p.held)[:0]
	for o := range all {
		objects = append(objects, o)
		if int64(len(objects)) == at.limit {
			break
		}
	}
	*p.held = objects
	p.items = slices.Values(objects)
	if int64(len(objects)) == at.limit {
		p.lookBehind(at, sel, objects[len(objects)-1].Key(), namespace)
	}
	return p
}

// lookBehind decides whether a page that is full says that there are more. Whether those are selected is not looked at,
// as in kube-apiserver: the last page may be empty.
func (p *page) lookBehind(at listing, sel *selection, last, namespace string) {
	behind := last + "\x00"
	left := at.snap.CountFrom(sel.base(), behind)
	if t, ok := sel.indexed(); ok && at.latest {
		left = 0
		for o := range at.snap.Select(t, behind) {
			if sel.namespace == "" || o.Namespace() == sel.namespace {
				left = 1
			}
			break
		}
	}
	if left == 0 {
		return
	}
	p.next = tokenBehind(sel.res, last, namespace, p.rev)
	if sel.empty() {
		p.remaining = left
	}
}

// release gives back what the page held.
func (p *page) release() {
	if p.held == nil {
		return
	}
	clear(*p.held)
	*p.held = (*p.held)[:0]
	if cap(*p.held) <= keepHeld {
		heldObjects.Put(p.held)
	}
}

func (p *page) appendMeta(dst []byte) []byte {
	dst = append(dst, `"resourceVersion":"`...)
	dst = strconv.AppendUint(dst, p.rev, 10)
	dst = append(dst, '"')
	if p.next == "" {
		return dst
	}
	dst = append(dst, `,"continue":"`...)
	dst = append(dst, p.next...)
	dst = append(dst, '"')
	if p.remaining > 0 {
		dst = append(dst, `,"remainingItemCount":`...)
		dst = strconv.AppendInt(dst, int64(p.remaining), 10)
	}
	return dst
}

func (p *page) appendCustomMeta(dst []byte) []byte {
	dst = append(dst, `"continue":"`...)
	dst = append(dst, p.next...)
	dst = append(dst, '"')
	if p.remaining > 0 {
		dst = append(dst, `,"remainingItemCount":`...)
		dst = strconv.AppendInt(dst, int64(p.remaining), 10)
	}
	dst = append(dst, `,"resourceVersion":"`...)
	dst = strconv.AppendUint(dst, p.rev, 10)
	return append(dst, '"')
}
