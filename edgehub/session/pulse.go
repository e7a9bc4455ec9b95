package session

import (
	"context"
	"fmt"
	"net"
	"time"
)

// dial connects to a hub and takes note of every byte that comes from there: a large message on a slow link takes long,
// but it shows that the link is alive.
func (c *Client) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	return &pulseConn{Conn: conn, c: c}, nil
}

// instant is a time in nanoseconds since the client was made, by the clock that nobody can set: a silence that is measured
// by one that jumps would be none, or begin in a year.
func (c *Client) instant(at time.Time) int64 { return int64(at.Sub(c.made)) }

// hears takes note of a message.
func (c *Client) hears(now time.Time) {
	c.heard.Store(now.UnixNano())
	c.message.Store(c.instant(now))
}

// pulseConn notes when it was last read from.
type pulseConn struct {
	net.Conn
	c *Client
}

func (c *pulseConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.c.read.Store(c.c.instant(time.Now()))
	}
	return n, err
}

const (
	// silences is how many progress intervals without a byte mean that the hub, or the link, is lost; as many without a
	// message mean that what the edge holds may be behind.
	silences = 3
	// muteLimit is how long a connection may bring bytes but no message: that of the largest message on a link of
	// 14 KB/s.
	muteLimit = 20 * time.Minute
	// lostLimit is how long an edge with several hubs stays with one that has lost the cloud.
	lostLimit = 30 * time.Second
)

// pulse looks, once per progress interval, whether the hub is alive and of use. It returns the reason to leave it.
func (s *session) pulse(now time.Time) error {
	limit := silences * s.progress
	at, message := s.c.instant(now), s.c.message.Load()
	mute, silent := time.Duration(at-message), time.Duration(at-max(message, s.c.read.Load()))
	switch {
	case silent > limit, mute > muteLimit:
		return errSilent
	case mute > limit && !s.stalled:
		s.c.log.Warn("the link is slow: what is served may be behind", "hub", s.hub)
		s.stalled = true
		for _, r := range s.c.replicas {
			r.log.SetLost(s.c.lastHeard())
		}
	}
	if err := s.unhealed(now); err != nil {
		return err
	}
	if !s.useless() {
		s.useful = now
	}
	if len(s.c.cfg.Hubs) > 1 && now.Sub(s.useful) > lostLimit {
		return errLost
	}
	return nil
}

// recovered takes back what a slow link has made doubtful: the hub's progress has come through, and with it all that was
// sent before.
func (s *session) recovered() {
	if !s.stalled {
		return
	}
	s.stalled = false
	for _, r := range s.c.replicas {
		if r.live && !r.lost {
			r.log.SetFollowing()
		}
	}
}

// useless tells whether the hub can't keep any resource current: it has lost the cloud, or has no state of its own.
func (s *session) useless() bool {
	for _, r := range s.c.replicas {
		if r.step.open && !r.waits || r.live && !r.lost {
			return false
		}
	}
	return len(s.c.replicas) > 0
}
