package syncsrv

import (
	"sync"
	"sync/atomic"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// projections are those that subscriptions have, one for each log and view. Their number is at most that of the
// subscriptions.
type projections struct {
	runs *runs
	last atomic.Uint64 // see number

	mu sync.Mutex
	by map[projectionKey]*projection // guarded by mu; none without a holder
}

// number returns one that no projection or listing has had.
func (ps *projections) number() uint64 { return ps.last.Add(1) }

// projectionKey says what a projection is of. A log is of one version of a resource, and a resource that is opened anew
// has another log.
type projectionKey struct {
	log  *watchlog.Log
	view scope.ID
}

func newProjections() *projections {
	return &projections{runs: newRuns(maxRunBytes), by: map[projectionKey]*projection{}}
}

// of returns the projection of a log through a view. The caller releases it.
func (ps *projections) of(log *watchlog.Log, view scope.View) *projection {
	key := projectionKey{log, view.ID()}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.by[key]
	if p == nil {
		p = &projection{home: ps, key: key, log: log, view: view, number: ps.number()}
		ps.by[key] = p
	}
	p.holders.Add(1)
	return p
}

// release says that one holder does not need p any more.
func (p *projection) release() {
	p.home.mu.Lock()
	last := p.holders.Add(-1) == 0
	if last {
		delete(p.home.by, p.key)
	}
	if len(p.home.by) == 0 {
		p.home.runs.clear()
	}
	p.home.mu.Unlock()
	if last {
		p.close()
	}
}
