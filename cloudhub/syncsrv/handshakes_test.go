package syncsrv

import (
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestHandshakesThatAreFurtherOnGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandshakes(1)
		if !h.take(false) {
			t.Fatal("a free turn is not given")
		}
		var mu sync.Mutex
		var order []string
		var wg sync.WaitGroup
		for _, w := range []struct {
			name    string
			further bool
		}{{"first", false}, {"second", false}, {"further", true}} {
			wg.Go(func() {
				if !h.take(w.further) {
					t.Error("no turn for ", w.name)
				}
				mu.Lock()
				order = append(order, w.name)
				mu.Unlock()
				h.give()
			})
			synctest.Wait()
		}
		h.give()
		wg.Wait()
		if want := []string{"further", "first", "second"}; !slices.Equal(order, want) {
			t.Errorf("turns went to %v, not %v", order, want)
		}
		if h.free != 1 {
			t.Errorf("%d turns are free at the end", h.free)
		}
	})
}

func TestHandshakeThatWaitsForLongIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandshakes(1)
		h.take(false)
		if h.take(true) {
			t.Error("there were two turns")
		}
		h.give()
		if !h.take(false) {
			t.Error("the turn went to who had left")
		}
	})
}

// A peer that sends half a message and stalls has no turn.
func TestStalledHandshakesHoldNothing(t *testing.T) {
	h := newHandshakes(1)
	var peers []net.Conn
	var wg sync.WaitGroup
	for range 5 {
		peer, ours := net.Pipe()
		peers = append(peers, peer)
		c := &handshaking{Conn: ours, of: h}
		wg.Go(func() {
			defer c.end()
			for buf := make([]byte, 1); ; {
				if _, err := c.Read(buf); err != nil {
					return
				}
			}
		})
		if _, err := peer.Write([]byte{22}); err != nil {
			t.Fatal(err)
		}
	}
	if !h.take(false) {
		t.Error("those that stall have the only turn")
	}
	h.give()
	for _, p := range peers {
		_ = p.Close()
	}
	wg.Wait()
	if h.free != 1 {
		t.Errorf("%d turns are free at the end", h.free)
	}
}

// Once it is over, a connection needs no turn.
func TestHandshakeThatIsOver(t *testing.T) {
	h := newHandshakes(0)
	peer, ours := net.Pipe()
	c := &handshaking{Conn: ours, of: h}
	c.end()
	go func() { _, _ = peer.Write([]byte("x")) }()
	_ = ours.SetDeadline(time.Now().Add(time.Minute))
	if n, err := c.Read(make([]byte, 4)); n != 1 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	_ = ours.Close()
	_ = peer.Close()
}
