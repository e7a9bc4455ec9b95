package fleet

import (
	"context"
	"time"
)

const (
	// tick is how often the clock looks at the edges, which have no timers of their own.
	tick = 100 * time.Millisecond
	// silences is how many progress intervals without a message mean that the hub is lost, as for an edgehub.
	silences = 3
)

// watch wakes the edges whose acks are due, and cuts off those whose hub is silent, until ctx ends.
func (f *Fleet) watch(ctx context.Context) {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		f.now.Store(time.Now().UnixNano())
		for _, e := range f.edges {
			e.look(f.now.Load())
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// look is called by the clock. An edge that does not notice at once is called again.
func (e *edge) look(now int64) {
	due, lost, c := e.due.Load(), e.lost.Load(), e.conn.Load()
	switch {
	case c == nil:
	case lost != 0 && lost <= now:
		c.Close()
	case due != 0 && due <= now:
		c.Wake()
	}
}
