package identity

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/tombolo-sync/tombolo/cloudhub/audit"
)

// refusal is somebody who was refused.
type refusal struct {
	action, edge, peer, reason string
	label                      string // in metrics
	party                      string // whose budget pays
}

func (r refusal) entry() audit.Entry {
	action := r.action
	if action == "" {
		action = "connect"
	}
	return audit.Entry{Action: action, Edge: r.edge, Peer: r.peer, Result: audit.Refused, Reason: r.reason}
}

// refuse charges who was refused, and has it written down unless that happened too often. It never blocks.
func (g *Gate) refuse(r refusal) {
	g.metrics.refused(r.label)
	exhausted := g.fails.Wait(r.party) > 0
	g.fails.Fail(r.party)
	if exhausted {
		return
	}
	select {
	case g.refused <- r:
	default: // the log can't keep up; the metric has it
	}
}

// Admit decides on a call before anything of it is read, for every method, known or not: gRPC's tap.ServerInHandle. It runs
// while the connection reads nothing else, so it does no I/O.
func (g *Gate) Admit(ctx context.Context, info *tap.Info) (context.Context, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ctx, status.Error(codes.Unauthenticated, "no peer")
	}
	c, ok := p.AuthInfo.(*Conn)
	if !ok {
		return ctx, status.Error(codes.Unauthenticated, "the connection did not come through the gate")
	}
	if c.edge == "" {
		return ctx, g.admitAnonymous(c, info.FullMethodName)
	}
	return ctx, g.admitEdge(c, info.FullMethodName)
}

// anonymousStreams is how many calls a connection without a certificate is good for.
const anonymousStreams = 2

func (g *Gate) admitAnonymous(c *Conn, method string) error {
	if method != g.cfg.Anonymous || g.cfg.Anonymous == "" {
		g.expel(c, "connect", "no client certificate")
		return status.Error(codes.Unauthenticated, "a client certificate is needed")
	}
	if c.streams.Add(1) > anonymousStreams {
		c.leaveBy(time.Now())
		return status.Error(codes.ResourceExhausted, "too many calls on a connection without a certificate")
	}
	return nil
}

func (g *Gate) admitEdge(c *Conn, method string) error {
	if err := g.standing(c); errors.Is(err, ErrBarred) {
		g.expel(c, "connect", err.Error())
		return status.Errorf(codes.PermissionDenied, "edge %s: %v", c.edge, err)
	} else if err != nil {
		return status.Errorf(codes.Unavailable, "who may be here: %v", err)
	}
	if c.superseded {
		g.expel(c, "connect", "a newer certificate of the edge is in use")
		return status.Error(codes.PermissionDenied, "a newer certificate of this edge is in use; if it is not yours, have the edge revoked and join anew")
	}
	if now := time.Now(); c.lapsed || now.After(c.notAfter) {
		if method == g.cfg.Lapsed && g.cfg.Lapsed != "" {
			return nil
		}
		g.expel(c, "connect", "the certificate has expired")
		return status.Errorf(codes.Unauthenticated, "the certificate expired at %s: renew it, or join with a new token",
			c.notAfter.UTC().Format(time.RFC3339))
	}
	g.used(c)
	return nil
}

// expel has a connection closed once the reason had time to get across, and that written down, once for a connection.
func (g *Gate) expel(c *Conn, action, reason string) {
	c.leaveBy(time.Now().Add(partingTime))
	if !c.expelled.CompareAndSwap(false, true) {
		return
	}
	from := party(c.RemoteAddr())
	if c.edge != "" {
		from = "edge " + c.edge
	}
	g.refuse(refusal{action: action, edge: c.edge, peer: c.RemoteAddr().String(), party: from, reason: reason, label: label(action, reason)})
}

func label(action, reason string) string {
	switch {
	case action == "disconnect":
		return "revoked"
	case action == "call" || action == "session":
		return "rules"
	case reason == "no client certificate":
		return "no_certificate"
	default:
		return "not_accepted"
	}
}
