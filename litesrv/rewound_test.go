package litesrv

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// TestWatchOfALogThatIsRewound: when the log ends because its positions mean nothing any more, the client is told at once
// to list again, with what had happened before in front of that.
func TestWatchOfALogThatIsRewound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(configmaps)
		watcher := open(t, w.server(), "/api/v1/configmaps?watch=1&resourceVersion=100", false)
		w.write(l, thing{ns: "t1", name: "c1"})
		l.Close(fmt.Errorf("%w: the cloud was restored", watchlog.ErrCompacted))
		watcher.wants("a watch of a log that is rewound", frame("ADDED", cm("t1", "c1", 101)),
			errorFrame(failure(410, "Expired", "too old resource version: 101 (100)", "")))
		if !watcher.ended() {
			t.Error("the watch goes on")
		}
	})
}
