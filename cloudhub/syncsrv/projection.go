package syncsrv

import (
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// projection is what a view makes of a log. All subscriptions of the same view share it, so that what depends on log and
// view alone is done once and not for each edge. It has no goroutine: it moves forward when somebody asks.
type projection struct {
	home *projections
	key  projectionKey
	log  *watchlog.Log
	view scope.View
	// holders is how many subscriptions have it. It changes under home.mu.
	holders atomic.Int64

	mu     sync.Mutex // guards all below
	digest history
}

// held returns what a holder of the view is to hold of a snapshot. It touches only the objects that the view's index terms
// reach.
func (p *projection) held(snap watchlog.Snapshot) iter.Seq[*watchlog.Object] {
	terms, r := p.view.Terms(), p.log.Resource()
	return func(yield func(*watchlog.Object) bool) {
		for i, t := range terms {
			for o := range snap.Select(t, "") {
				again := slices.ContainsFunc(terms[:i], func(t watchlog.Term) bool { return t.Matches(r, o) })
				if !again && p.view.Matches(o) && !yield(o) {
					return
				}
			}
		}
	}
}

// close lets go of the log. There is no holder any more.
func (p *projection) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget()
}
