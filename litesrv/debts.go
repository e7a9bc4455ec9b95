package litesrv

import (
	"context"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// debt is a write of which there is no proof yet that the log has it. It is immutable.
type debt struct {
	part Part
	rev  uint64 // the log has the write when it is here; 0 when that is not known
}

// debts are the writes that reads have to find the proof for, at most one for each log.
type debts struct {
	count atomic.Int64 // of open and unheld; read without mu

	mu   sync.Mutex
	open map[*watchlog.Log]*debt // guarded by mu
	// unheld are resources that had no log when they were written. The log that comes owes everything. Guarded by mu.
	unheld map[schema.GroupResource]struct{}
}

// maxUnheld bounds the resources in unheld, of which each exists in the cloud; then any one is forgotten for another.
const maxUnheld = 2000

// await notes that a resource was written of which there is no log.
func (d *debts) await(gr schema.GroupResource) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unheld == nil {
		d.unheld = map[schema.GroupResource]struct{}{}
	}
	if _, ok := d.unheld[gr]; !ok && len(d.unheld) >= maxUnheld {
		for other := range d.unheld {
			delete(d.unheld, other)
			break
		}
	}
	d.unheld[gr] = struct{}{}
	d.recountLocked()
}

func (d *debts) recountLocked() { d.count.Store(int64(len(d.open) + len(d.unheld))) }

// add notes a debt. With one that is there already it becomes one for everything that both may concern.
func (d *debts) add(l *watchlog.Log, x debt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addLocked(l, x)
}

func (d *debts) addLocked(l *watchlog.Log, x debt) {
	if d.open == nil {
		d.open = map[*watchlog.Log]*debt{}
	}
	for old := range d.open {
		select {
		case <-old.Done():
			delete(d.open, old) // nobody reads from it any more
		default:
		}
	}
	if old := d.open[l]; old != nil {
		x = old.with(x)
	}
	d.open[l] = &x
	d.recountLocked()
}

// with returns a debt that covers both.
func (d *debt) with(x debt) debt {
	switch {
	case d.part == x.part && (d.rev > 0) == (x.rev > 0):
		return debt{part: d.part, rev: max(d.rev, x.rev)}
	case d.part.Namespace == x.part.Namespace:
		return debt{part: Part{Namespace: d.part.Namespace}}
	default:
		return debt{}
	}
}

func (d *debts) of(l *watchlog.Log) *debt {
	if d.count.Load() == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if gr := l.Resource().GroupResource(); len(d.unheld) > 0 {
		if _, ok := d.unheld[gr]; ok {
			delete(d.unheld, gr)
			d.addLocked(l, debt{})
		}
	}
	return d.open[l]
}

// paid removes a debt, unless more has been added to it.
func (d *debts) paid(l *watchlog.Log, x *debt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[l] == x {
		delete(d.open, l)
		d.recountLocked()
	}
}

// repay finds the proof that the log has what was written through this edge, when that could not be found in time. Without
// it the read is answered all the same, and says that it may be behind, whatever revision it asks for.
func (s *Server) repay(ctx context.Context, q *read) {
	d := s.debts.of(q.log)
	if d == nil {
		return
	}
	if d.rev > 0 && q.log.Rev() >= d.rev {
		s.debts.paid(q.log, d)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.freshWait)
	defer cancel()
	if _, err := s.cfg.Prover.Prove(ctx, q.res.GroupVersionResource(), d.part, d.rev); err != nil {
		q.fresh = unproved
		return
	}
	s.debts.paid(q.log, d)
}
