// Package throttle bounds how often somebody may fail, by who it is.
package throttle

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxParties bounds how many parties are kept apart. Those beyond share one budget.
const maxParties = 4096

// Throttle holds a budget of failures for each party. Only failures cost: who does everything right is never held up, nor by
// another party's failures. It is safe for concurrent use.
type Throttle struct {
	limit rate.Limit
	burst int

	mu      sync.Mutex // guards all below
	parties map[string]*rate.Limiter
	rest    *rate.Limiter // of all parties beyond maxParties
	swept   time.Time     // when it was last looked for parties to forget
}

// New returns a throttle that grants each party burst failures, and one more each time every has passed.
func New(every time.Duration, burst int) *Throttle {
	t := &Throttle{limit: rate.Every(every), burst: burst, parties: map[string]*rate.Limiter{}}
	t.rest = rate.NewLimiter(t.limit, burst)
	return t
}

// Fail charges a party with a failure.
func (t *Throttle) Fail(party string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.parties[party]
	if l == nil {
		t.makeRoomLocked()
		if l = t.rest; len(t.parties) < maxParties {
			l = rate.NewLimiter(t.limit, t.burst)
			t.parties[party] = l
		}
	}
	l.Allow()
}

// Wait returns 0 for a party that may try, else how long it is to stay away.
func (t *Throttle) Wait(party string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.parties[party]
	if l == nil {
		if len(t.parties) < maxParties {
			return 0
		}
		l = t.rest
	}
	if missing := 1 - l.Tokens(); missing > 0 {
		return time.Duration(missing / float64(t.limit) * float64(time.Second))
	}
	return 0
}

// sweepEvery bounds how often all parties are looked at.
const sweepEvery = time.Second

// makeRoomLocked forgets parties whose budget is whole again.
func (t *Throttle) makeRoomLocked() {
	now := time.Now()
	if len(t.parties) < maxParties || now.Sub(t.swept) < sweepEvery {
		return
	}
	t.swept = now
	for p, l := range t.parties {
		if l.Tokens() >= float64(t.burst) {
			delete(t.parties, p)
		}
	}
}

// Address returns the party that an address belongs to: the host, of IPv6 the /64 that one customer has.
func Address(addr net.Addr) string {
	host, _, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return p.String()
		}
	}
	return ip.String()
}
