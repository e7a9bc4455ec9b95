package credentials

import (
	"crypto/x509"
	"sync/atomic"
	"time"
)

// clock is the time as far as certificates are concerned. An edge without a clock of its own starts in 1970: it goes by what
// a hub said last, and until then by what must be past already: the beginning of whatever an authority has signed.
type clock struct {
	ahead atomic.Int64 // how far hubs are ahead of our clock, in nanoseconds
}

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// set notes a hub's time, in Unix milliseconds.
func (c *clock) set(ms int64) {
	if ms > 0 {
		c.ahead.Store(int64(time.Until(time.UnixMilli(ms))))
	}
}

// at returns the time at which certificates are to be valid: now, or the latest beginning among them. "Not yet valid" so says
// nothing to an edge: what an authority signed proves that the time has come. "Expired" is as strict as the clock is right.
func (c *clock) at(certs ...*x509.Certificate) time.Time {
	now := c.now()
	for _, cert := range certs {
		if cert.NotBefore.After(now) {
			now = cert.NotBefore
		}
	}
	return now
}
