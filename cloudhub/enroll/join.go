package enroll

import (
	"context"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/tombolo-sync/tombolo/cloudhub/identity"
	"github.com/tombolo-sync/tombolo/cloudhub/throttle"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// errToken is all that somebody learns who does not know a secret, whether there is such a token or not.
var errToken = status.Error(codes.PermissionDenied, "the token is not valid")

// Join trades a token for a certificate.
func (s *Server) Join(ctx context.Context, req *tombolov1.JoinRequest) (*tombolov1.JoinResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	from := remote(ctx)
	if err := s.mayTry(from); err != nil {
		s.write("join", "", from.String(), err)
		identity.Leave(ctx)
		return nil, err
	}
	key, err := publicKey(req.GetRequest())
	if err != nil {
		err = status.Error(codes.InvalidArgument, err.Error())
		s.failed(ctx, from, Token{}, err)
		return nil, err
	}
	t, err := s.redeem(ctx, req.GetToken(), key)
	if err != nil {
		s.failed(ctx, from, t, err)
		return nil, err
	}
	revoked, err := s.cfg.Revoked.Before(t.Edge)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	credential, err := s.grant("join", t.Edge, from.String(), key, revoked, "token", t.ID)
	if err != nil {
		return nil, err
	}
	return &tombolov1.JoinResponse{Edge: t.Edge, Credential: credential}, nil
}

func remote(ctx context.Context) net.Addr {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr
	}
	return &net.TCPAddr{}
}

// mayTry refuses those who have failed too often, and everybody when there are too many.
func (s *Server) mayTry(from net.Addr) error {
	if wait := s.fails.Wait(throttle.Address(from)); wait > 0 {
		return comeAgain("too many failed attempts from this address", wait)
	}
	if r := s.joins.Reserve(); r.Delay() > 0 {
		wait := r.Delay()
		r.Cancel()
		return comeAgain("too many edges join at once", wait)
	}
	return nil
}

// failed charges an address with an attempt, and has its connection closed, unless it is we who failed. It has that written
// down.
func (s *Server) failed(ctx context.Context, from net.Addr, t Token, err error) {
	if status.Code(err) != codes.Unavailable {
		s.fails.Fail(throttle.Address(from))
		identity.Leave(ctx)
	}
	var detail []any
	if t.ID != "" {
		detail = []any{"token", t.ID}
	}
	s.write("join", t.Edge, from.String(), err, detail...)
}

// redeem returns the token of a text once it is the key's. The token comes with errors, too, as soon as the secret has been
// proved. Errors are statuses.
func (s *Server) redeem(ctx context.Context, text string, key any) (Token, error) {
	id, secret, ok := parseToken(text)
	if !ok {
		return Token{}, errToken
	}
	t, err := s.cfg.Tokens.Token(ctx, id)
	if err != nil && !errors.Is(err, ErrNoToken) {
		s.log.Error("join token", "token", id, "err", err)
		return Token{}, status.Error(codes.Unavailable, "the hub can't look at tokens now")
	}
	if !t.matches(secret) || err != nil {
		return Token{}, errToken
	}
	if c, ok := identity.FromContext(ctx); ok && c.Name() != "" && c.Name() != t.Edge {
		return t, status.Errorf(codes.PermissionDenied, "the token is not for edge %s, whose certificate this is", c.Name())
	}
	now := time.Now()
	if !now.Before(t.Expires) {
		return t, status.Errorf(codes.PermissionDenied, "the token expired at %s", t.Expires.UTC().Format(time.RFC3339))
	}
	revoked, err := s.cfg.Revoked.Before(t.Edge)
	if err != nil {
		return t, status.Error(codes.Unavailable, err.Error())
	}
	if t.Created.Before(revoked) {
		return t, status.Error(codes.PermissionDenied, "the edge was revoked after the token was made")
	}
	if s.cfg.Standing != nil {
		if err := s.cfg.Standing.Check(t.Edge, t.Created); errors.Is(err, identity.ErrBarred) {
			return t, status.Error(codes.PermissionDenied, err.Error())
		} else if err != nil {
			return t, status.Error(codes.Unavailable, err.Error())
		}
	}
	return t, s.claim(ctx, t, key)
}

// claim makes the token the key's, or fails when it is another's.
func (s *Server) claim(ctx context.Context, t Token, key any) error {
	me, err := fingerprint(key)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	holder, err := s.cfg.Tokens.Claim(ctx, t.ID, me)
	switch {
	case errors.Is(err, ErrNoToken):
		return errToken // it was taken back this moment
	case err != nil:
		s.log.Error("join token", "token", t.ID, "err", err)
		return status.Error(codes.Unavailable, "the hub can't look at tokens now")
	case holder != me:
		return status.Error(codes.PermissionDenied, "the token was used already, for another key")
	}
	return nil
}
