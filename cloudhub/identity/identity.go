// Package identity tells which edge is at the other end of a connection, and lets in who may be here.
package identity

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Rule is how edges are identified.
type Rule struct {
	// Insecure takes a claim for the truth. It is for development on loopback, where there is no TLS.
	Insecure bool
}

// Edge returns the name of the edge that a stream comes from: what its certificate says, never what it claims. A claim
// that differs is PERMISSION_DENIED, so that a mix-up of certificates shows at once; no claim is no mix-up. One that can't be
// a name is INVALID_ARGUMENT. Both end a connection that came through a Gate. No certificate is UNAUTHENTICATED. A name
// that is returned is a DNS-1123 subdomain.
func (r Rule) Edge(ctx context.Context, claim string) (string, error) {
	if (claim != "" || r.Insecure) && len(validation.IsDNS1123Subdomain(claim)) > 0 {
		Expel(ctx, "connect", "claims a name that no edge can have")
		return "", notAName(claim)
	}
	if r.Insecure {
		return claim, nil
	}
	p, ok := peer.FromContext(ctx)
	if !ok {
		return "", status.Error(codes.Unauthenticated, "no peer")
	}
	name, err := certified(p.AuthInfo)
	switch {
	case err != nil:
		return "", err
	case claim == "" && len(validation.IsDNS1123Subdomain(name)) > 0:
		return "", notAName(name)
	case claim != "" && name != claim:
		Expel(ctx, "connect", "claims to be edge "+claim)
		return "", status.Errorf(codes.PermissionDenied, "the certificate is for edge %q, not for %q", name, claim)
	}
	return name, nil
}

func notAName(text string) error {
	return status.Errorf(codes.InvalidArgument,
		"%.100q can't be an edge's name: lower-case letters, digits, - and . are needed", text)
}

// certified returns the name in a connection's certificate.
func certified(info credentials.AuthInfo) (string, error) {
	var name string
	switch i := info.(type) {
	case *Conn:
		if name = i.edge; name == "" || i.lapsed {
			return "", status.Error(codes.Unauthenticated, "no valid client certificate")
		}
	case credentials.TLSInfo:
		if len(i.State.VerifiedChains) == 0 || len(i.State.VerifiedChains[0]) == 0 {
			return "", status.Error(codes.Unauthenticated, "no verified client certificate")
		}
		name = i.State.VerifiedChains[0][0].Subject.CommonName
	default:
		return "", status.Error(codes.Unauthenticated, "no verified client certificate")
	}
	if name == "" {
		return "", status.Error(codes.Unauthenticated, "the client certificate has no common name")
	}
	return name, nil
}

// FromContext returns the connection that a call came in on, false when that was not through a Gate.
func FromContext(ctx context.Context) (*Conn, bool) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil, false
	}
	c, ok := p.AuthInfo.(*Conn)
	return c, ok
}

// maxReason bounds what is written down of why a connection was closed, in bytes.
const maxReason = 256

// Expel has the connection that a call came in on closed, once the answer had time to get across, and has that written down as
// the refusal of an action: for who breaks the rules. The reason must have nothing of what was sent but names. It does nothing
// to a connection that did not come through a Gate.
func Expel(ctx context.Context, action, reason string) {
	if c, ok := FromContext(ctx); ok {
		c.gate.expel(c, action, reason[:min(len(reason), maxReason)])
	}
}

// Leave has the connection that a call came in on closed, once the answer had time to get across: for who was refused, which
// was written down, and has no more to do there.
func Leave(ctx context.Context) {
	if c, ok := FromContext(ctx); ok {
		c.leaveBy(time.Now().Add(partingTime))
	}
}

// Addr returns where a stream comes from, for logs.
func Addr(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}
