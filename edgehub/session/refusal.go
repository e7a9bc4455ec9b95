package session

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrRefused is returned by Run when every hub refuses the edge for a reason that time won't mend (a certificate that is
// not accepted on one side, a name that is not the certificate's, another protocol version), and the edge holds nothing
// that it could serve meanwhile: it has been set up wrongly. An edge that has data goes on serving it and trying.
var ErrRefused = errors.New("refused")

// refusals counts the hubs in a row that refused the edge for good.
type refusals struct{ count int }

// note takes a failed attempt into account and returns an error once all hubs have refused.
func (r *refusals) note(c *Client, hub string, err error) error {
	if !refusal(err) {
		r.count = 0
		return nil
	}
	if r.count++; r.count < len(c.cfg.Hubs) || c.holdsData() {
		return nil
	}
	return fmt.Errorf("hub %s: %w: %s", hub, ErrRefused, reason(err))
}

// refusal tells whether an attempt failed for a reason that time won't mend.
func refusal(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented:
		return true
	case codes.Unavailable: // gRPC has only words for what goes wrong before there is a connection
		text := err.Error()
		return strings.Contains(text, "authentication handshake failed") && strings.Contains(text, "certificate") ||
			strings.Contains(text, "remote error: tls")
	default:
		return errors.Is(err, errVersion)
	}
}

// reason returns an error's text without the words that gRPC puts around it.
func reason(err error) string {
	if s, ok := status.FromError(err); ok {
		return s.Message()
	}
	return err.Error()
}

// holdsData tells whether there is anything to serve.
func (c *Client) holdsData() bool {
	for _, l := range c.Logs() {
		if l.IsReady() {
			return true
		}
	}
	return false
}
