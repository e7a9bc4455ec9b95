package fleet

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Config is what a Fleet needs. Edges and Hubs are required.
type Config struct {
	// Edges is how many there are.
	Edges int
	// Names is the pattern of their names, with one verb for a number from 1 on. "" means edge-%05d.
	Names string
	// Hubs are host:port; an edge begins with the one of its number, and goes on to the next when that fails.
	Hubs []string
	// TLS returns an edge's, anew for each connection; the session cache is the fleet's own. nil is for plaintext.
	TLS func(edge string) *tls.Config
	// ConnectRate bounds the edges that begin to connect a second. 0: no bound. Edges that were connected come back as soon
	// as edgehubs do.
	ConnectRate float64
	// Stuck is how many edges, the last ones, stop reading for good once they have caught up.
	Stuck int
	// Whole has the edges announce no capabilities: objects come as JSON, and inventories are whole.
	Whole    bool
	Software string // told to hubs
	Logger   *slog.Logger

	// MinBackoff and MaxBackoff bound the waits between attempts to connect, which are random below a bound that doubles.
	// 0 means 500 ms and 60 s, those of an edgehub.
	MinBackoff, MaxBackoff time.Duration
	// ConnectTimeout bounds an attempt to reach a hub, up to its Welcome. 0 means 30 s: thousands share a processor.
	ConnectTimeout time.Duration
}

func (c *Config) setDefaults() error {
	switch {
	case c.Edges <= 0:
		return errors.New("fleet: at least one edge is needed")
	case len(c.Hubs) == 0:
		return errors.New("fleet: no hub address")
	case c.Stuck < 0 || c.Stuck > c.Edges:
		return fmt.Errorf("fleet: %d of %d edges can't be stuck", c.Stuck, c.Edges)
	case c.ConnectRate < 0:
		return errors.New("fleet: a negative connect rate")
	}
	if c.Names == "" {
		c.Names = "edge-%05d"
	}
	if a, b := c.name(0), c.name(1); a == b || strings.Contains(a, "%!") {
		return fmt.Errorf("fleet: %q is not a pattern with one verb for a number, such as edge-%%05d", c.Names)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	setDefault(&c.MinBackoff, 500*time.Millisecond)
	setDefault(&c.MaxBackoff, time.Minute)
	setDefault(&c.ConnectTimeout, 30*time.Second)
	return nil
}

// name returns the name of edge i, from 0 on.
func (c *Config) name(i int) string { return fmt.Sprintf(c.Names, i+1) }

func setDefault(d *time.Duration, to time.Duration) {
	if *d == 0 {
		*d = to
	}
}
