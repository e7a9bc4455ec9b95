package syncsrv

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// listing is what edges are sent that are to come to a state from anywhere behind a revision: all objects of a view with
// later ones, oldest first, in pages. Edges that begin while others are still being sent theirs join them: they get the
// same state, and what has happened since as events. It is immutable but for its users.
type listing struct {
	of      *projection
	number  uint64 // of all projections and listings
	snap    watchlog.Snapshot
	digest  delta.Digest
	from    uint64
	objects []*watchlog.Object
	pages   []int // where each begins in objects
	made    time.Time
	users   int // guarded by the projection's mu
}

// joinFor is how long after it was made a listing may be joined.
const joinFor = 10 * time.Second

// list returns a listing that serves an edge which has everything up to a revision. The caller hands it back to unlist.
func (p *projection) list(from uint64) *listing {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.listing; l != nil && l.serves(from) && p.log.Reaches(l.snap.Rev()) == nil {
		l.users++
		return l
	}
	snap := p.log.Snapshot()
	l := &listing{of: p, number: p.home.number(), snap: snap, digest: p.ofLocked(snap), from: from, made: time.Now(), users: 1}
	for o := range p.held(snap) {
		if o.Rev() > from {
			l.objects = append(l.objects, o)
		}
	}
	l.arrange()
	p.listing = l
	return l
}

// serves tells whether an edge may join that has everything up to a revision.
func (l *listing) serves(from uint64) bool {
	return l.from <= from && from <= l.snap.Rev() && time.Since(l.made) < joinFor
}

// unlist says that one user does not need l any more. Without users it is joined by nobody, and does not keep its state in
// memory.
func (p *projection) unlist(l *listing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.users--; l.users == 0 && p.listing == l {
		p.listing = nil
	}
}

// arrange sorts the objects and cuts them into pages.
func (l *listing) arrange() {
	slices.SortFunc(l.objects, func(a, b *watchlog.Object) int { return cmp.Compare(a.Rev(), b.Rev()) })
	for i := 0; i < len(l.objects); {
		l.pages = append(l.pages, i)
		i += page(l.objects[i:])
	}
}

// page returns how many of the objects, which are not none, make up a page: one piece of a run.
func page(objects []*watchlog.Object) (n int) {
	for size := 0; n < len(objects) && (n == 0 || size+objects[n].Size() <= batchBytes); n++ {
		size += objects[n].Size()
	}
	return n
}

// behind returns the objects with a revision behind from.
func (l *listing) behind(from uint64) []*watchlog.Object {
	return l.objects[sort.Search(len(l.objects), func(i int) bool { return l.objects[i].Rev() > from }):]
}

// next returns how many of the objects from place at on go next, and whether they are a whole page.
func (l *listing) next(at int) (n int, whole bool) {
	i, whole := slices.BinarySearch(l.pages, at)
	if whole {
		i++
	}
	if i < len(l.pages) {
		return l.pages[i] - at, whole
	}
	return len(l.objects) - at, whole
}

// listed returns how many of the listing's objects from place at on go next, and what they have an edge do.
func (p *projection) listed(l *listing, at int, frames bool) (int, *run) {
	n, whole := l.next(at)
	build := func() *run { return newRun(puts(l.objects[at:at+n]), frames) }
	if !whole || !p.shared() {
		return n, build()
	}
	return n, p.home.runs.of(runKey{l.number, uint64(at), uint64(at + n), form{frames: frames}}, build)
}

// unlist hands back the catch-up's listing, if it has one. The subscription may have another view by now.
func (u *subscription) unlist() {
	if l := u.catchup.listing; l != nil {
		l.of.unlist(l)
		u.catchup.listing = nil
	}
}
