package inproc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// backup is a cloud's state at a revision.
type backup struct {
	rev     uint64
	objects map[string][]byte
}

func (c *fakeCloud) backup() backup {
	c.mu.Lock()
	defer c.mu.Unlock()
	return backup{c.rev, maps.Clone(c.objects)}
}

// restore takes the cloud back. A hub that follows it notices.
func (c *fakeCloud) restore(b backup) {
	c.mu.Lock()
	c.rev, c.objects = b.rev, maps.Clone(b.objects)
	s := c.current
	var old *watchlog.Log
	if s != nil {
		old, s.log = s.log, watchlog.New(pods(), watchlog.Config{})
	}
	c.mu.Unlock()
	if s != nil {
		s.load()
		old.Close(fmt.Errorf("%w: a backup was restored", source.ErrRewound))
	}
}

// bulky is a node name that makes a pod large, so that its transfer shows.
func bulky(i int) string { return fmt.Sprintf("node-%d-%s", i, strings.Repeat("x", 10_000)) }

// lose makes what a backup does not have: a change, a deletion, a creation and a recreation.
func (c *fakeCloud) lose() uint64 {
	c.put("p1", "u1", bulky(1001))
	c.remove("p2")
	c.put("created", "u-lost", bulky(1002))
	c.remove("p3")
	return c.put("p3", "u3-again", bulky(1003))
}

// gone waits until a reader is told that its position means nothing any more.
func (e *edge) gone(r *watchlog.Reader) {
	e.t.Helper()
	e.eventually("the watch ends with ErrCompacted", func() bool {
		_, err := r.Read(make([]*watchlog.Event, 0, 16))
		return errors.Is(err, watchlog.ErrCompacted)
	})
}

// wentBack waits until the edge holds what the cloud does, and checks what became of positions of before and that no more
// than a few objects came.
func (e *edge) wentBack(c *fakeCloud, old *watchlog.Log, received int64) {
	e.t.Helper()
	e.eventually("the edge has a new log", func() bool { return e.pods() != old })
	e.waitFor(c.rev)
	e.following()
	e.holds(c)
	if rev := old.Rev(); rev > e.pods().Rev() {
		if _, err := e.pods().NewReader(rev, nil); !errors.Is(err, watchlog.ErrCompacted) {
			e.t.Errorf("watch from %d, which is of before: %v", rev, err)
		}
	}
	if _, err := e.pods().NewReader(c.backup().rev-1, nil); !errors.Is(err, watchlog.ErrCompacted) {
		e.t.Errorf("watch from before the new log: %v", err)
	}
	if n := e.BytesReceived() - received; n > 100_000 {
		e.t.Errorf("%d bytes came for a handful of objects of 10 KB", n)
	}
}

// bigCloud is a cloud with 100 pods of 10 KB.
func bigCloud(t *testing.T) *fakeCloud {
	c := newFakeCloud(t)
	for i := range 100 {
		c.put(fmt.Sprint("p", i), fmt.Sprint("u", i), bulky(i))
	}
	return c
}

func TestRestoredCloudWhileConnected(t *testing.T) {
	c := bigCloud(t)
	src := c.source()
	src.load()
	hub, stop := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	dir := t.TempDir()
	e := startEdge(t, dir, hub)
	e.holds(c)
	saved := c.backup()
	end := c.lose()
	e.waitFor(end)
	e.following()
	old, received := e.pods(), e.BytesReceived()
	r, err := old.NewReader(end, make(watchlog.Signal, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c.restore(saved)
	e.gone(r)
	e.wentBack(c, old, received)
	at := e.pods().Rev()

	stop()
	e.stop()
	e = startEdge(t, dir, hub)
	if e.pods().Rev() != at {
		t.Errorf("at %d after a restart, was at %d", e.pods().Rev(), at)
	}
	if _, err := e.pods().NewReader(end, nil); !errors.Is(err, watchlog.ErrCompacted) {
		t.Errorf("watch from a lost position after a restart: %v", err)
	}
	startHub(t, src, newScopes(t, allPods), hub)
	e.waitFor(c.put("p1", "u1", "after"))
	e.holds(c)
}

// TestRestoredCloudWhileDisconnected: the hub never saw what was lost. A consistent read tells it that the edge did.
func TestRestoredCloudWhileDisconnected(t *testing.T) {
	t.Parallel()
	for _, passed := range []bool{false, true} {
		t.Run(fmt.Sprintf("passed %v", passed), func(t *testing.T) {
			c := bigCloud(t)
			_, e, stop := provingEdge(t, c, allPods)
			e.holds(c)
			saved := c.backup()
			end := c.lose()
			e.waitFor(end)
			old, received := e.pods(), e.BytesReceived()
			stop()
			c.mu.Lock()
			c.current = nil
			c.mu.Unlock()
			c.restore(saved)
			if passed {
				for c.backup().rev <= end {
					c.put("p50", "u50", "after")
				}
			}
			again := &proving{fakeSource: c.source()}
			again.answer(func(context.Context, source.Part, uint64) (uint64, error) { return again.log.Rev(), nil })
			again.load()
			startHub(t, again, newScopes(t, allPods), e.hub)
			e.wentBack(c, old, received)
		})
	}
}

// TestEdgeThatIsAheadKeepsWhatItHas: without a proof nobody concludes anything.
func TestEdgeThatIsAheadKeepsWhatItHas(t *testing.T) {
	c := bigCloud(t)
	_, e, stop := provingEdge(t, c, allPods)
	saved := c.backup()
	end := c.lose()
	e.waitFor(end)
	old := e.pods()
	stop()
	c.mu.Lock()
	c.current = nil
	c.mu.Unlock()
	c.restore(saved)
	again := &proving{fakeSource: c.source()}
	asked := make(chan struct{}, 1)
	again.answer(func(context.Context, source.Part, uint64) (uint64, error) {
		select {
		case asked <- struct{}{}:
		default:
		}
		return 0, source.ErrLost
	})
	again.load()
	startHub(t, again, newScopes(t, allPods), e.hub)
	<-asked
	if e.pods() != old || old.Rev() != end {
		t.Errorf("at %d, was at %d", e.pods().Rev(), end)
	}
	for c.backup().rev < end { // the replica was only behind
		c.bookmark()
	}
	e.eventually("the edge follows", func() bool { live, _ := e.Contact(); return live })
}

// TestReencodedBytesReachAnEdgeThatWasAway: objects whose bytes changed under their revision, which no event told the edge.
func TestReencodedBytesReachAnEdgeThatWasAway(t *testing.T) {
	c := bigCloud(t)
	src := c.source()
	src.load()
	hub, stop := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	e.holds(c)
	e.following()
	received, log := e.BytesReceived(), e.pods()
	stop()
	c.mu.Lock()
	raw := string(c.objects["ns/p7"])
	c.objects["ns/p7"] = []byte(strings.Replace(raw, `"spec":{`, `"spec":{"new":true,`, 1))
	c.mu.Unlock()
	again := c.source()
	again.load()
	startHub(t, again, newScopes(t, allPods), hub)
	e.eventually("the new bytes are there", func() bool {
		return strings.Contains(string(e.pods().Snapshot().Get("ns/p7").JSON()), `"new":true`)
	})
	e.following()
	e.holds(c)
	if e.pods() != log {
		t.Error("a new log, for bytes that changed")
	}
	if n := e.BytesReceived() - received; n > 40_000 {
		t.Errorf("%d bytes came for one object of 10 KB", n)
	}
}

// TestAnotherClusterBehindTheSameHub: the hub's source notices that another cluster has taken over, and edges follow.
func TestAnotherClusterBehindTheSameHub(t *testing.T) {
	c := newFakeCloud(t)
	c.put("old", "u1", "mine")
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	e.holds(c)
	old := e.pods()
	c.mu.Lock()
	c.epoch, c.rev, c.objects = "cluster-2", 10, map[string][]byte{}
	log := src.log
	src.log = watchlog.New(pods(), watchlog.Config{})
	c.mu.Unlock()
	src.load()
	log.Close(source.ErrReplaced)
	rev := c.put("new", "u2", "mine")
	e.eventually("the new cluster's pod is there", func() bool {
		l, err := e.Log(podsGVR)
		return err == nil && l.Snapshot().Get("ns/new") != nil
	})
	e.waitFor(rev)
	e.holds(c)
	if _, err := e.pods().NewReader(old.Rev(), nil); !errors.Is(err, watchlog.ErrCompacted) {
		t.Errorf("watch from a position of the old cluster: %v", err)
	}
}
