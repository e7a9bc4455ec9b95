package inproc

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// events reads what a reader has up to a position, as "TYPE key@rev".
func events(t *testing.T, r *watchlog.Reader, wake <-chan struct{}, upto uint64) []string {
	t.Helper()
	var out []string
	for {
		p, err := r.Read(make([]*watchlog.Event, 0, 16))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Events {
			out = append(out, fmt.Sprintf("%s %s@%d", e.Type, e.Object.Name(), e.Rev))
		}
		if p.Rev >= upto {
			return out
		}
		if !p.More && len(p.Events) == 0 {
			<-wake
		}
	}
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got  %v\nwant %v", got, want)
	}
}

func TestLiveEventsReachTheEdge(t *testing.T) {
	c := newFakeCloud(t)
	c.put("a", "u1", "mine")
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	from := e.pods().Rev()
	e.holds(c)

	b, d := c.put("b", "u2", "mine"), c.remove("a")
	e.waitFor(d)
	e.holds(c)
	wake := make(watchlog.Signal, 1)
	r, err := e.pods().NewReader(from, wake)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want(t, events(t, r, wake, d), fmt.Sprint("ADDED b@", b), fmt.Sprint("DELETED a@", d))

	quiet := c.bookmark()
	e.waitFor(quiet)
}

func TestScopeLetsObjectsEnterAndLeave(t *testing.T) {
	c := newFakeCloud(t)
	c.put("a", "u1", "mine")
	c.put("b", "u2", "theirs")
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, myPods), "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	from := e.pods().Rev()
	e.holds(c, "mine")
	enter, leave := c.put("b", "u2", "mine"), c.put("a", "u1", "theirs")
	c.put("a", "u1", "other")
	end := c.put("c", "u3", "mine")
	e.waitFor(end)
	e.holds(c, "mine")
	wake := make(watchlog.Signal, 1)
	r, err := e.pods().NewReader(from, wake)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want(t, events(t, r, wake, end), fmt.Sprint("ADDED b@", enter), fmt.Sprint("DELETED a@", leave), fmt.Sprint("ADDED c@", end))
}

// TestHubWithAnEmptyMemory: what changed, was deleted and was recreated while nobody watched reaches the edge, as events
// for its watchers.
func TestHubWithAnEmptyMemory(t *testing.T) {
	c := newFakeCloud(t)
	for i := range 5 {
		c.put(fmt.Sprint("p", i), fmt.Sprint("u", i), "mine")
	}
	src := c.source()
	src.load()
	sc := newScopes(t, allPods)
	hub, stop := startHub(t, src, sc, "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	e.holds(c)
	from := e.pods().Rev()
	wake := make(watchlog.Signal, 1)
	r, err := e.pods().NewReader(from, wake)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()

	stop()
	c.current = nil
	c.remove("p0")
	changed := c.put("p1", "u1", "mine")
	c.remove("p2")
	recreated := c.put("p2", "u2-again", "mine")
	end := c.remove("p3")
	again := c.source()
	startHub(t, again, sc, hub)

	// The new hub has not finished its first list: the edge keeps everything.
	e.eventually("connected", func() bool { return e.BytesReceived() > 0 })
	if n := e.pods().Snapshot().Len(); n != 5 || e.pods().Rev() != from {
		t.Fatalf("%d objects at %d while the hub starts", n, e.pods().Rev())
	}
	again.load()
	e.waitFor(end)
	e.holds(c)
	got := events(t, r, wake, end)
	slices.Sort(got[len(got)-2:]) // deletions at one position have no order among them
	want(t, got, fmt.Sprint("MODIFIED p1@", changed), fmt.Sprint("DELETED p2@", recreated), fmt.Sprint("ADDED p2@", recreated),
		fmt.Sprint("DELETED p0@", end), fmt.Sprint("DELETED p3@", end))

	newer := c.put("new", "u9", "mine")
	e.waitFor(newer)
	e.holds(c)
	if _, err := e.pods().NewReader(from, wake); err != nil {
		t.Errorf("watch from before the restart: %v", err)
	}
	if _, err := e.pods().NewReader(changed, wake); !errors.Is(err, watchlog.ErrCompacted) {
		t.Errorf("watch from inside the gap: %v", err)
	}
}

// TestRestartOffline: an edge without a hub serves what it had, and its watches resume.
func TestRestartOffline(t *testing.T) {
	c := newFakeCloud(t)
	c.put("a", "u1", "mine")
	src := c.source()
	src.load()
	hub, stop := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	dir := t.TempDir()
	e := startEdge(t, dir, hub)
	from := e.pods().Rev()
	end := c.put("a", "u1", "other")
	e.waitFor(end)
	stop()
	e.stop()

	e = startEdge(t, dir, hub)
	if live, last := e.Contact(); live || last.IsZero() {
		t.Errorf("contact: live %v, last %v", live, last)
	}
	if err := e.Ready(); err != nil {
		t.Errorf("not ready: %v", err)
	}
	if _, ok := e.Documents().Get("/version", ""); !ok {
		t.Error("no API documents")
	}
	e.holds(c)
	if e.pods().Rev() != end {
		t.Errorf("at %d, was at %d", e.pods().Rev(), end)
	}
	wake := make(watchlog.Signal, 1)
	r, err := e.pods().NewReader(from, wake)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want(t, events(t, r, wake, end), fmt.Sprint("MODIFIED a@", end))
}

func TestResumeAfterALostLinkIsExact(t *testing.T) {
	c := newFakeCloud(t)
	c.put("a", "u1", "mine")
	src := c.source()
	src.load()
	sc := newScopes(t, allPods)
	hub, stop := startHub(t, src, sc, "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	from := e.pods().Rev()
	stop()
	one, two := c.put("a", "u1", "n1"), c.put("a", "u1", "n2")
	gone := c.remove("a")
	startHub(t, src, sc, hub)
	e.waitFor(gone)
	wake := make(watchlog.Signal, 1)
	r, err := e.pods().NewReader(from, wake)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want(t, events(t, r, wake, gone), fmt.Sprint("MODIFIED a@", one), fmt.Sprint("MODIFIED a@", two), fmt.Sprint("DELETED a@", gone))
	if _, err := e.pods().SnapshotAt(one); err != nil {
		t.Errorf("exact list inside what was resumed: %v", err)
	}
}

// TestGapInTheHubsLog: the hub itself lost sight of the cloud for a while.
func TestGapInTheHubsLog(t *testing.T) {
	c := newFakeCloud(t)
	c.put("a", "u1", "mine")
	c.put("b", "u2", "mine")
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	from := e.pods().Rev()
	c.mu.Lock()
	c.current = nil // the hub's watch is broken
	c.mu.Unlock()
	inside := c.put("a", "u1", "n1")
	end := c.remove("b")
	c.mu.Lock()
	c.current = src
	c.mu.Unlock()
	src.relist()
	e.waitFor(end)
	e.holds(c)
	wake := make(watchlog.Signal, 1)
	r, err := e.pods().NewReader(from, wake)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want(t, events(t, r, wake, end), fmt.Sprint("MODIFIED a@", inside), fmt.Sprint("DELETED b@", end))
	if _, err := e.pods().NewReader(inside, wake); !errors.Is(err, watchlog.ErrCompacted) {
		t.Errorf("watch from inside the gap: %v", err)
	}
}

func TestChangedScopeIsReconciled(t *testing.T) {
	c := newFakeCloud(t)
	for i := range 50 {
		c.put(fmt.Sprint("p", i), fmt.Sprint("u", i), []string{"mine", "theirs"}[i%2])
	}
	src := c.source()
	src.load()
	sc := newScopes(t, myPods)
	hub, _ := startHub(t, src, sc, "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	e.holds(c, "mine")
	sc.set(t, allPods)
	e.eventually("all pods are there", func() bool { return e.pods().Snapshot().Len() == 50 })
	e.holds(c)
	sc.set(t, myPods)
	e.eventually("only mine are there", func() bool { return e.pods().Snapshot().Len() == 25 })
	e.holds(c, "mine")
	e.waitFor(c.put("late", "u99", "mine"))
	e.holds(c, "mine")
	sc.set(t, noPods)
	e.eventually("pods are gone", func() bool {
		_, err := e.Log(podsGVR)
		return err != nil
	})
}

func TestResourceThatTheCloudNoLongerKnowsIsForgotten(t *testing.T) {
	c := newFakeCloud(t)
	c.put("a", "u1", "mine")
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	l := e.pods()
	c.mu.Lock()
	c.known = false
	c.mu.Unlock()
	src.log.Close(nil)
	<-l.Done()
	if _, err := e.Log(podsGVR); err == nil {
		t.Error("still there")
	}
}

// TestDeletedResourceIsForgottenAtOnce: when the source itself says that the resource is gone, nobody waits.
func TestDeletedResourceIsForgottenAtOnce(t *testing.T) {
	c := newFakeCloud(t)
	c.put("a", "u1", "mine")
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	l := e.pods()
	c.mu.Lock()
	c.known = false
	c.mu.Unlock()
	opens := src.opens.Load()
	src.log.Close(fmt.Errorf("%w: its definition was deleted", apidoc.ErrUnknownResource))
	<-l.Done()
	if n := src.opens.Load() - opens; n != 0 {
		t.Errorf("forgotten only after %d more looks", n)
	}
	c.mu.Lock()
	c.known = true // it comes back, as another one
	src.log = watchlog.New(pods(), watchlog.Config{})
	c.mu.Unlock()
	src.load()
	e.eventually("it is back", func() bool {
		l, err := e.Log(podsGVR)
		return err == nil && l.IsReady()
	})
	e.holds(c)
}

func TestAnotherClusterReplacesEverything(t *testing.T) {
	c := newFakeCloud(t)
	c.put("old", "u1", "mine")
	src := c.source()
	src.load()
	sc := newScopes(t, allPods)
	hub, stop := startHub(t, src, sc, "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	e.holds(c)
	from := e.pods().Rev()
	stop()
	other := newFakeCloud(t)
	other.epoch, other.rev = "cluster-2", 10
	other.put("new", "u2", "mine")
	src = other.source()
	src.load()
	startHub(t, src, sc, hub)
	e.eventually("the new cluster's pod is there", func() bool {
		l, err := e.Log(podsGVR)
		return err == nil && l.Snapshot().Get("ns/new") != nil
	})
	e.holds(other)
	if _, err := e.pods().NewReader(from, nil); !errors.Is(err, watchlog.ErrCompacted) {
		t.Errorf("watch from a position of the old cluster: %v", err)
	}
}

// TestDeletionsAtOneRevision: Events that expire together are deleted at one revision, which the hub hears one by one.
func TestDeletionsAtOneRevision(t *testing.T) {
	c := newFakeCloud(t)
	c.put("a", "u1", "mine")
	c.put("b", "u2", "mine")
	c.put("c", "u3", "mine")
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	e.holds(c)
	rev := c.remove("a")
	e.waitFor(rev)
	c.mu.Lock()
	c.rev--
	c.mu.Unlock()
	if again := c.remove("b"); again != rev {
		t.Fatalf("deleted at %d and %d", rev, again)
	}
	e.eventually("b is gone", func() bool { return e.pods().Snapshot().Len() == 1 })
	e.holds(c)
}

// TestHubThatLostTheCloudSaysSo: a hub that can't reach the cloud does not make its edges look fresh.
func TestHubThatLostTheCloudSaysSo(t *testing.T) {
	c := newFakeCloud(t)
	c.put("a", "u1", "mine")
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	live := func() bool { live, _ := e.Contact(); return live }
	e.eventually("live", live)
	src.log.SetLost(time.Now())
	e.eventually("no longer live", func() bool { return !live() })
	src.log.SetFollowing()
	e.eventually("live again", live)
}

// brittle is a listener whose connections break once so many bytes were sent on them.
type brittle struct {
	net.Listener
	left int64
}

func (l brittle) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &brittleConn{Conn: c, left: l.left}, err
}

type brittleConn struct {
	net.Conn
	left int64 // one goroutine writes
}

func (c *brittleConn) Write(b []byte) (int, error) {
	if c.left -= int64(len(b)); c.left < 0 {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// narrow is a listener whose connections carry 16 KiB in each of a number of intervals.
type narrow struct {
	net.Listener
	interval time.Duration
}

func (l narrow) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return narrowConn{c, l.interval}, err
}

type narrowConn struct {
	net.Conn
	interval time.Duration
}

func (c narrowConn) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		time.Sleep(c.interval)
		var m int
		m, err = c.Conn.Write(b[n:min(len(b), n+16<<10)])
		n += m
	}
	return n, err
}

// TestSlowLinkIsNotALostOne: an object that takes longer than the hub is ever silent arrives in one session, and until
// then the edge says that it may be behind.
func TestSlowLinkIsNotALostOne(t *testing.T) {
	t.Parallel()
	c := newFakeCloud(t)
	c.put("small", "u1", "mine")
	src := c.source()
	src.load()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	counted := &countingListener{Listener: lis}
	serveHub(t, src, newScopes(t, allPods), narrow{counted, 80 * time.Millisecond}) // 200 KB/s
	e := startEdge(t, t.TempDir(), lis.Addr().String())
	e.holds(c)
	rev := c.put("large", "u2", noise(1_200_000)) // 6 s; the edge expects to hear something every 3 s
	e.eventually("it says that it may be behind", func() bool { _, lost := e.pods().Lost(); return lost })
	e.waitFor(rev)
	e.eventually("it is no longer behind", func() bool { _, lost := e.pods().Lost(); return !lost })
	e.holds(c)
	if n := counted.accepted.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

type countingListener struct {
	net.Listener
	accepted atomic.Int32
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return c, err
}

// TestFirstSyncGoesOnWhereItBroke: what was staged before a lost link and a restart is not sent again. With a connection
// that breaks after a third of the data, the first sync would never end otherwise.
func TestFirstSyncGoesOnWhereItBroke(t *testing.T) {
	c := newFakeCloud(t)
	for i := range 3000 {
		c.put(fmt.Sprint("p", i), fmt.Sprint("u", i), noise(1000))
	}
	src := c.source()
	src.load()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveHub(t, src, newScopes(t, allPods), brittle{lis, 1_200_000})
	dir := t.TempDir()
	e := startEdge(t, dir, lis.Addr().String())
	e.eventually("something has come", func() bool { return e.BytesReceived() > 300_000 })
	e.stop()
	e = startEdge(t, dir, lis.Addr().String())
	e.holds(c)
}
