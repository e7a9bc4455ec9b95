package syncsrv

import (
	"iter"
	"sync"
	"sync/atomic"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
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

	number uint64 // of all projections and listings of the server

	mu      sync.Mutex // guards all below
	digest  history
	listing *listing // the newest, nil when nobody is sent it
}

// shared tells whether more than one subscription has the projection.
func (p *projection) shared() bool { return p.holders.Load() > 1 }

// run returns what events, which a reader of the view's terms has read, have a holder of the view do.
func (p *projection) run(page watchlog.Page, f form) *run {
	if len(page.Events) == 0 {
		return noRun
	}
	if !p.shared() {
		return p.newRun(page.Events, f, nil)
	}
	s := p.home.runs.entry(runKey{p.number, page.First, page.Last, f})
	if r := s.run.Load(); r != nil {
		return r
	}
	return p.home.runs.make(s, func() *run { return p.newRun(page.Events, f, nil) })
}

// newRun encodes what events have a holder of the view do. The objects whose keys are in whole are not sent as patches the
// first time, and are taken out of it.
func (p *projection) newRun(events []*watchlog.Event, f form, whole map[string]struct{}) *run {
	ops := make([]*tombolov1.Operation, 0, len(events))
	for _, e := range events {
		op, ok := p.view.Transition(e)
		if !ok {
			continue
		}
		_, asked := whole[op.Key]
		delete(whole, op.Key)
		ops = append(ops, p.operation(e, op, f.patches && !asked))
	}
	return newRun(ops, f.frames)
}

// operation is what an event, which means op to a holder of the view, has the holder do.
func (p *projection) operation(e *watchlog.Event, op watchlog.Op, patches bool) *tombolov1.Operation {
	switch {
	case op.Object == nil:
		return remove(op.Key, op.Rev)
	case patches && e.Type == watchlog.Modified && p.view.Matches(e.Prev):
		if patch := patchOf(e); patch != nil {
			return patch
		}
	}
	return put(op.Object, op.Rev)
}

// held returns what a holder of the view is to hold of a snapshot. It touches only the objects that the view's index terms
// reach.
func (p *projection) held(snap watchlog.Snapshot) iter.Seq[*watchlog.Object] {
	return p.view.Objects(snap)
}

// close lets go of the log. There is no holder any more.
func (p *projection) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget()
}
