package inproc

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// farLink passes connections on to a hub that is far away: what is sent takes its time in either direction.
type farLink struct {
	delay time.Duration
	rate  int // bytes a second; 0 for any number
	conns atomic.Int32
	bytes atomic.Int64 // in both directions
}

// start returns the link's address.
func (l *farLink) start(t *testing.T, hub string) string {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			near, err := lis.Accept()
			if err != nil {
				return
			}
			l.conns.Add(1)
			far, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", hub)
			if err != nil {
				_ = near.Close()
				continue
			}
			wg.Go(func() { l.carry(near, far) })
			wg.Go(func() { l.carry(far, near) })
		}
	})
	t.Cleanup(func() {
		_ = lis.Close()
		wg.Wait()
	})
	return lis.Addr().String()
}

// carry copies what comes from one connection to the other, each piece a while after it came, and closes both at the end.
func (l *farLink) carry(from, to net.Conn) {
	type piece struct {
		due  time.Time
		data []byte
	}
	pieces := make(chan piece, 64)
	go func() {
		defer close(pieces)
		for {
			buf := make([]byte, 4<<10)
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			pieces <- piece{time.Now().Add(l.delay), buf[:n]}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		l.bytes.Add(int64(len(p.data)))
		if l.rate > 0 {
			time.Sleep(time.Duration(len(p.data)) * time.Second / time.Duration(l.rate))
		}
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	_ = from.Close()
	_ = to.Close()
	for range pieces { //nolint:revive // the reader may be waiting
	}
}

// What an edge needs changes several times in each round trip to it, and goes on to do so: what it needs all along comes
// all the same, over one connection.
func TestReferencesThatFlap(t *testing.T) {
	g := newGraph(t, 1)
	addr, _ := startHub(t, g.cloud, newScopes(t, needToKnow), "127.0.0.1:0")
	link := &farLink{delay: 60 * time.Millisecond}
	for _, name := range []string{"s0", "s1", "s2"} {
		g.send(http.MethodPost, "/api/v1/namespaces/a/secrets", object{"metadata": object{"name": name}})
	}
	e := startEdge(t, t.TempDir(), link.start(t, addr))
	secrets := schema.GroupResource{Resource: "secrets"}
	e.eventually("the edge has secrets, of which it may hold none", func() bool {
		l, err := e.Log(secrets.WithVersion("v1"))
		return err == nil && l.IsReady()
	})
	pod := func(name, secret string) object {
		return object{"metadata": object{"name": name}, "spec": object{"nodeName": "mine", "containers": []object{{
			"name": "c", "image": "i", "envFrom": []object{{"secretRef": object{"name": secret}}},
		}}}}
	}
	flap := func(n int) {
		if n%2 == 0 {
			g.send(http.MethodPost, "/api/v1/namespaces/a/pods", pod("flap", "s1"))
		} else {
			g.send(http.MethodDelete, "/api/v1/namespaces/a/pods/flap", object{"gracePeriodSeconds": 0})
		}
	}
	time.Sleep(300 * time.Millisecond) // the hub has heard of that, or the test asks less
	n := 0
	for ; n < 9; n++ {
		flap(n)
		time.Sleep(20 * time.Millisecond)
	}
	g.send(http.MethodPost, "/api/v1/namespaces/a/pods", pod("steady", "s0"))
	deadline := time.Now().Add(30 * time.Second)
	for ; e.held()[secrets]["a/s0"] == ""; n++ {
		if time.Now().After(deadline) {
			t.Fatalf("after %d changes the edge has not been sent what its steady pod refers to", n)
		}
		flap(n)
		time.Sleep(20 * time.Millisecond)
	}
	t.Log("it took", fmt.Sprint(n), "changes")
	for ; n%2 != 0; n++ {
		flap(n)
	}
	due := g.due()
	e.eventually("the edge holds what it needs", func() bool { return same(e.held(), due) })
	if c := link.conns.Load(); c != 1 {
		t.Errorf("the edge has connected %d times", c)
	}
}

// A namespace comes into the view and leaves it again, many times while the edge is sent the first of a large one: what has
// come is not sent again and again.
func TestFirstSyncOfAViewThatFlaps(t *testing.T) {
	const objects, size = 40, 20_000
	g := newGraph(t, 1)
	label := func(ns string, site any) {
		g.send(http.MethodPatch, "/api/v1/namespaces/"+ns, object{"metadata": object{"labels": object{"site": site}}})
	}
	label("a", "mine")
	for i := range objects {
		for _, ns := range []string{"a", "b"} {
			g.send(http.MethodPost, "/api/v1/namespaces/"+ns+"/configmaps", object{
				"metadata": object{"name": fmt.Sprint("m", i)}, "data": object{"x": noise(size)},
			})
		}
	}
	addr, _ := startHub(t, g.cloud, newScopes(t, needToKnow), "127.0.0.1:0")
	link := &farLink{delay: 20 * time.Millisecond, rate: 400 << 10}
	e := startEdge(t, t.TempDir(), link.start(t, addr))
	configMaps := schema.GroupResource{Resource: "configmaps"}
	whole := func() bool {
		held := e.held()[configMaps]
		for i := range objects {
			if held[fmt.Sprint("a/m", i)] == "" {
				return false
			}
		}
		return true
	}
	n := 0
	for deadline := time.Now().Add(time.Minute); !whole(); n++ {
		if time.Now().After(deadline) {
			t.Fatalf("after %d changes and %d KB the edge lacks what it was to hold all along", n, link.bytes.Load()>>10)
		}
		label("b", []any{"mine", "other"}[n%2])
		time.Sleep(150 * time.Millisecond)
	}
	label("b", "other")
	due := g.due()
	e.eventually("the edge holds what it needs", func() bool { return same(e.held(), due) })
	if c := link.conns.Load(); c != 1 {
		t.Errorf("the edge has connected %d times", c)
	}
	t.Logf("%d changes, %d KB of %d", n, link.bytes.Load()>>10, 2*objects*size*4/3>>10)
	if most := int64(3 * 2 * objects * size * 4 / 3); link.bytes.Load() > most {
		t.Errorf("%d bytes for %d that the edge needed at one time or another", link.bytes.Load(), most/3)
	}
}
