package syncsrv

import (
	"sync"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// eventBuf is scratch for what a reader reads.
type eventBuf [pageEvents]*watchlog.Event

var eventBufs = sync.Pool{New: func() any { return &eventBuf{} }}

func takeEventBuf() *eventBuf { return eventBufs.Get().(*eventBuf) } //nolint:forcetypeassert // there is nothing else in it

// putBack lets go of the events, too.
func (b *eventBuf) putBack() {
	clear(b[:])
	eventBufs.Put(b)
}
