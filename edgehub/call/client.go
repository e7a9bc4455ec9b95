package call

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Client is an http.Handler that answers from the cloud.
type Client struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
}

// New returns a client. Errors: a required part of the configuration is missing.
func New(cfg Config) (*Client, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	return &Client{cfg: cfg, log: cfg.Logger, metrics: newMetrics(cfg.Metrics)}, nil
}

// Online tells whether there is a way to a hub.
func (c *Client) Online() bool { return c.cfg.Link.Conn() != nil }

// ServeHTTP answers one request. It panics with http.ErrAbortHandler when an answer that has begun can't be ended.
func (c *Client) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := c.carry(w, r, false); err != nil {
		c.fail(w, r, err)
	}
}

// WithinScope answers a read as ServeHTTP does, but with no more than the edge's scope covers. It returns false, and has
// answered nothing, when the hub can't narrow the request to that, or there is no answer.
func (c *Client) WithinScope(w http.ResponseWriter, r *http.Request) bool {
	return c.carry(w, r, true) == nil
}

// carry passes a request to the hub and the answer to the client. An error means that nothing was answered.
func (c *Client) carry(w http.ResponseWriter, r *http.Request, within bool) error {
	head, err := c.head(r)
	if err != nil {
		return err
	}
	head.WithinScope = within
	conn := c.cfg.Link.Conn()
	if conn == nil {
		return c.offline()
	}
	c.metrics.inFlight.Inc()
	defer c.metrics.inFlight.Dec()
	ctx, cancel := context.WithCancelCause(r.Context())
	x := &exchange{c: c, w: w, rc: http.NewResponseController(w), r: r, cancel: cancel}
	x.drained.Store(true)
	defer x.end()
	if err := x.open(ctx, conn, head); err != nil {
		if status.Code(err) == codes.Unavailable {
			return c.offline()
		}
		return c.explain(r, err, x)
	}
	if err := x.begin(); err != nil {
		return c.explain(r, err, x)
	}
	if err := x.finish(r.Context()); err != nil {
		c.metrics.cut.Inc()
		c.log.Debug("answer cut short", "method", r.Method, "path", r.URL.Path, "err", err)
		if !x.hijacked {
			panic(http.ErrAbortHandler)
		}
	}
	return nil
}

var errNoAnswer = errors.New("the hub has ended the call without an answer")
