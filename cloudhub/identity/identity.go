// Package identity tells which edge is at the other end of a connection.
package identity

import (
	"context"

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
// that differs is PERMISSION_DENIED, so that a mix-up of certificates shows at once; one that can't be a name is
// INVALID_ARGUMENT; no certificate is UNAUTHENTICATED. A name that is returned is a DNS-1123 subdomain.
func (r Rule) Edge(ctx context.Context, claim string) (string, error) {
	if len(validation.IsDNS1123Subdomain(claim)) > 0 {
		return "", status.Errorf(codes.InvalidArgument,
			"%.100q can't be an edge's name: lower-case letters, digits, - and . are needed", claim)
	}
	if r.Insecure {
		return claim, nil
	}
	p, ok := peer.FromContext(ctx)
	if !ok {
		return "", status.Error(codes.Unauthenticated, "no peer")
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 || len(info.State.VerifiedChains[0]) == 0 {
		return "", status.Error(codes.Unauthenticated, "no verified client certificate")
	}
	name := info.State.VerifiedChains[0][0].Subject.CommonName
	switch {
	case name == "":
		return "", status.Error(codes.Unauthenticated, "the client certificate has no common name")
	case name != claim:
		return "", status.Errorf(codes.PermissionDenied, "the certificate is for edge %q, not for %q", name, claim)
	}
	return name, nil
}

// Addr returns where a stream comes from, for logs.
func Addr(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}
