package inproc

import (
	"fmt"
	"testing"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// TestHubTellsWhatRemains: each part of a first sync says how many objects come behind it.
func TestHubTellsWhatRemains(t *testing.T) {
	c := newFakeCloud(t)
	const objects = 6
	for i := range objects {
		c.put(fmt.Sprint("p", i), fmt.Sprint("u", i), noise(200<<10)) // each fills a batch
	}
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	e := joinRaw(t, hub)
	came, taken := 0, uint64(0)
	for came < objects {
		b := e.until(func(m *tombolov1.SyncResponse) bool { return m.GetBatch() != nil }).GetBatch()
		came += len(b.GetOperations())
		if want := objects - came; b.GetRemaining() != uint64(want) { //nolint:gosec // not negative
			t.Errorf("behind %d of %d objects the hub says that %d remain", came, objects, b.GetRemaining())
		}
		taken += 1 << 20
		e.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ack{Ack: &tombolov1.Ack{ReceivedBytes: taken}}})
	}
}
