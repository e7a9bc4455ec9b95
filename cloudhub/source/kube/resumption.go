package kube

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
)

// quietTime is how long a watch that was resumed may be silent before a proof is sought, and between two attempts at one.
// What kube-apiserver has against a position it says at once, but in the stream, behind the status 200.
const quietTime = time.Second

// resumption is the time between the answer to a watch that goes on from a position, and the first that it says. Until then
// the log may be behind: the watch may be about to say that the position is gone.
type resumption struct {
	tasks sync.WaitGroup

	mu  sync.Mutex
	now *struct{ _ byte } // the one that goes on; nil when there is none. Guarded by mu
}

// begin begins a resumption in place of any other.
func (r *resumption) begin() (this *struct{ _ byte }) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = &struct{ _ byte }{}
	return r.now
}

// end ends the resumption that goes on, and calls then.
func (r *resumption) end(then func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = nil
	then()
}

// succeed calls then if the resumption still goes on, and ends it.
func (r *resumption) succeed(this *struct{ _ byte }, then func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now != this {
		return false
	}
	r.now = nil
	then()
	return true
}

// resuming hears that a watch from the log's position was answered, which lasts as long as ctx. A log that has lost the cloud
// follows it again with the first that the watch says, or, on a resource on which nothing happens, once it is proved that the
// log has everything: then the position was good.
func (f *feed) resuming(ctx context.Context) {
	if _, lost := f.entries.Lost(); !lost {
		return
	}
	this := f.resumption.begin()
	f.resumption.tasks.Go(func() {
		for sleep(ctx, quietTime) == nil {
			_, err := f.proofs.parts.Ask(ctx, source.Part{}, 0)
			switch {
			case err == nil && ctx.Err() == nil:
				if f.resumption.succeed(this, f.entries.SetFollowing) {
					f.sayLive()
				}
				return
			case errors.Is(err, source.ErrRewound):
				f.rewound(err)
				return
			case err != nil:
				f.log.Debug("no proof yet that the watch goes on", "err", err)
			}
		}
	})
}
