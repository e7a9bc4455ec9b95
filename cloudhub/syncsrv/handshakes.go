package syncsrv

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// handshakes lets only as many TLS handshakes compute at a time as there are processors, those first that are further on. When
// thousands of edges come at once, they so get in one after the other, instead of all being half in when their time is up.
// A peer that stalls holds nothing: only who has something to compute has a turn.
type handshakes struct {
	mu      sync.Mutex // guards all below
	free    int
	waiting [2][]chan struct{} // oldest first: those at their first message, and those behind it
}

// handshakePatience is how long a handshake may wait for its turn: gRPC gives it 20 s, and what comes of it after that is
// of no use.
const handshakePatience = 15 * time.Second

func newHandshakes(processors int) *handshakes { return &handshakes{free: processors} }

// take waits for a turn, and returns false when there was none in time.
func (h *handshakes) take(further bool) bool {
	h.mu.Lock()
	if h.free > 0 {
		h.free--
		h.mu.Unlock()
		return true
	}
	turn, line := make(chan struct{}), 0
	if further {
		line = 1
	}
	h.waiting[line] = append(h.waiting[line], turn)
	h.mu.Unlock()
	patience := time.NewTimer(handshakePatience)
	defer patience.Stop()
	select {
	case <-turn:
		return true
	case <-patience.C:
	}
	if h.leave(turn, line) {
		return false
	}
	h.give() // the turn has come at the same moment
	return false
}

// leave takes a turn out of a line and tells whether it was still there.
func (h *handshakes) leave(turn chan struct{}, line int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, other := range h.waiting[line] {
		if other == turn {
			h.waiting[line] = append(h.waiting[line][:i:i], h.waiting[line][i+1:]...)
			return true
		}
	}
	return false
}

// give passes a turn on.
func (h *handshakes) give() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for line := len(h.waiting) - 1; line >= 0; line-- {
		if w := h.waiting[line]; len(w) > 0 {
			close(w[0])
			w[0] = nil
			h.waiting[line] = w[1:]
			return
		}
	}
	h.free++
}

// handshaking is a connection whose handshake has a turn but while it waits for the peer.
type handshaking struct {
	net.Conn
	of   *handshakes
	over atomic.Bool
	has  bool // a turn; belongs to the handshake, as further does
	// further is set behind the first message.
	further bool
}

var errCrowded = errors.New("too many handshakes are under way")

// Read gives the turn back while there is nothing to do.
func (c *handshaking) Read(b []byte) (int, error) {
	if c.over.Load() {
		return c.Conn.Read(b)
	}
	c.give()
	n, err := c.Conn.Read(b)
	if err != nil {
		return n, err
	}
	if c.has = c.of.take(c.further); !c.has {
		return 0, errCrowded
	}
	c.further = true
	return n, nil
}

func (c *handshaking) give() {
	if c.has {
		c.has = false
		c.of.give()
	}
}

// end ends the handshake.
func (c *handshaking) end() {
	c.give()
	c.over.Store(true)
}
