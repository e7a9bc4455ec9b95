package syncsrv

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// identify returns the name of the edge at the other end: what its certificate says, never what it claims. A claim that
// differs ends the session with PERMISSION_DENIED, so that a mix-up of certificates shows at once. Without TLS, which
// is for development on loopback, there is only the claim.
func (s *Server) identify(ctx context.Context, claim string) (string, error) {
	if s.cfg.Insecure {
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

func peerAddr(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}
