package inproc

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// meter is a listener that counts the bytes of its connections.
type meter struct {
	net.Listener
	up, down atomic.Int64 // from and to the edge
}

func (m *meter) Accept() (net.Conn, error) {
	c, err := m.Listener.Accept()
	return &meteredConn{c, m}, err
}

type meteredConn struct {
	net.Conn
	m *meter
}

func (c *meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.m.up.Add(int64(n))
	return n, err
}

func (c *meteredConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.m.down.Add(int64(n))
	return n, err
}

// uid returns a UID of the usual length.
func uid(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", n%1000, n%1_000_000) }

// diverge changes, re-encodes, deletes, creates and recreates n pods in all, without a word to anybody.
func (c *fakeCloud) diverge(rng *rand.Rand, of, n int) {
	for range n {
		i := rng.IntN(of)
		name := fmt.Sprint("p", i)
		switch rng.IntN(5) {
		case 0:
			c.put(name, uid(i), "changed")
		case 1:
			c.mu.Lock()
			if raw, ok := c.objects["ns/"+name]; ok {
				c.objects["ns/"+name] = []byte(strings.Replace(string(raw), `"spec":{`, fmt.Sprintf(`"spec":{"n":%d,`, rng.IntN(1000)), 1))
			}
			c.mu.Unlock()
		case 2:
			c.remove(name)
		case 3:
			c.put(fmt.Sprint("new", rng.Int()), uid(rng.Int()), "new")
		case 4:
			c.put(name, uid(rng.Int()), "recreated")
		}
	}
}

// TestReconcileSendsWhatDiffers: whatever differs between an edge and a hub with an empty memory, they come to agree, and the
// bytes for that follow from how much differs, not from how much there is.
func TestReconcileSendsWhatDiffers(t *testing.T) {
	t.Parallel()
	const objects = 5000
	c := newFakeCloud(t)
	for i := range objects {
		c.put(fmt.Sprint("p", i), uid(i), "mine")
	}
	src := c.source()
	src.load()
	sc := newScopes(t, allPods)
	hub, stop := startHub(t, src, sc, "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	e.holds(c)
	e.following()
	rng := rand.New(rand.NewPCG(7, 7))
	for _, n := range []int{0, 1, 10, 100, 1000} {
		stop()
		c.mu.Lock()
		c.current = nil
		c.mu.Unlock()
		if n == 1 {
			c.remove("p4321") // which changes alone can't tell
		} else {
			c.diverge(rng, objects, n)
		}
		again := c.source()
		again.load()
		lis, err := net.Listen("tcp", hub)
		if err != nil {
			t.Fatal(err)
		}
		m := &meter{Listener: lis}
		stop = serveHub(t, again, sc, m)
		e.waitFor(c.backup().rev)
		e.following()
		e.holds(c)
		t.Logf("%d differing: %d bytes up, %d down", n, m.up.Load(), m.down.Load())
		limit := map[int]int64{0: 1000, 1: 4500, 10: 12_000, 100: 45_000, 1000: 350_000}[n]
		if got := m.up.Load() + m.down.Load(); got > limit {
			t.Errorf("%d differing: %d bytes, want %d at most", n, got, limit)
		}
	}
}
