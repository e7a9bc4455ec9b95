package callsrv

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tombolo-sync/tombolo/cloudhub/audit"
	"github.com/tombolo-sync/tombolo/cloudhub/identity"
)

// record writes down what became of a request: in the audit log when it was to change something, to get into a container, or
// was refused by us, else for debugging. Of the request it has the path, never the query, headers or bodies.
func (s *Server) record(ctx context.Context, x *exchange, verb string, took time.Duration, err error) {
	user := "the edge's"
	if x.head.own {
		user = cmp.Or(subject(x.head.header), "the caller's own")
	}
	detail := []any{"user", user, "verb", verb, "path", short(x.head.url.Path), "status", x.code, "ms", took.Milliseconds()}
	if reads(verb) && x.refused == "" {
		if err != nil {
			detail = append(detail, "err", err)
		}
		s.log.Debug("call", append(detail, "edge", x.edge)...)
		return
	}
	e := audit.Entry{Action: "call", Edge: x.edge, Peer: identity.Addr(ctx), Result: audit.Passed, Reason: x.refused, Detail: detail, Bounded: true}
	if x.refused != "" {
		e.Result = audit.Refused
	} else if err != nil {
		if x.code == 0 {
			e.Result = audit.Failed
		}
		e.Reason = short(status.Convert(err).Message())
	}
	s.cfg.Audit.Write(e)
}

// turnedAway writes down that a call of a known edge was refused before anything was made of it. What an edge's clients can
// bring about costs the edge no more than the call; what its own software never sends costs it the connection.
func (s *Server) turnedAway(ctx context.Context, edge string, err error) {
	s.cfg.Audit.Write(audit.Entry{
		Action: "call", Edge: edge, Peer: identity.Addr(ctx), Result: audit.Refused, Bounded: true,
		Reason: short(status.Convert(err).Message()),
	})
}

// misused ends the connection of who has sent messages that an edge's software never does.
func misused(ctx context.Context, err error) error {
	if status.Code(err) == codes.InvalidArgument {
		identity.Expel(ctx, "call", status.Convert(err).Message())
	}
	return err
}

func reads(verb string) bool {
	return verb == "get" || verb == "head" || verb == "options" || verb == "watch"
}

// maxLine bounds a text in a line of a log, in bytes.
const maxLine = 256

func short(text string) string { return text[:min(len(text), maxLine)] }

// subject returns whom a request's token says it is of, "" when it does not say. Nobody has verified that: the API server
// does, and its answer tells what it thinks.
func subject(h map[string][]string) string {
	if len(h["Authorization"]) == 0 {
		return ""
	}
	parts := strings.Split(h["Authorization"][0], ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Sub string `json:"sub"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return ""
	}
	return short(claims.Sub)
}
