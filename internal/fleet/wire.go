package fleet

import (
	"context"
	"net"
	"time"

	"github.com/tombolo-sync/tombolo/internal/fleet/wire"
)

const (
	// maxMessage bounds a message, as at an edgehub.
	maxMessage = 16 << 20
	// window is that of an edgehub.
	window = 64 << 10
)

// dial connects to a hub, and leaves the connection where cut finds it.
func (e *edge) dial(ctx context.Context, hub string, deadline time.Time) (*wire.Conn, error) {
	cfg := wire.Config{Wrap: e.f.count, UserAgent: "tombolo-fleet", MaxMessage: maxMessage, Window: window}
	if e.f.cfg.TLS != nil {
		cfg.TLS = e.f.cfg.TLS(e.name)
		cfg.TLS.ClientSessionCache = &e.ticket
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	c, err := wire.Dial(ctx, hub, cfg)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(deadline)
	return c, nil
}

func (f *Fleet) count(c net.Conn) net.Conn { return counted{c, &f.stats} }

// counted is a connection whose bytes are counted, TLS and frames included.
type counted struct {
	net.Conn
	stats *tally
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.stats.wireIn.Add(int64(n))
	return n, err
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.stats.wireOut.Add(int64(n))
	return n, err
}
