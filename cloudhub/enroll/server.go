package enroll

import (
	"bytes"
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tombolo-sync/tombolo/cloudhub/audit"
	"github.com/tombolo-sync/tombolo/cloudhub/identity"
	"github.com/tombolo-sync/tombolo/cloudhub/throttle"
	"github.com/tombolo-sync/tombolo/internal/pki"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// The methods that need no certificate, and that take one that has expired.
const (
	Anonymous = tombolov1.JoinService_Join_FullMethodName
	Lapsed    = tombolov1.JoinService_Renew_FullMethodName
)

// Server gives certificates. It is a service for connections that come through an identity.Gate.
type Server struct {
	tombolov1.UnimplementedJoinServiceServer

	cfg    Config
	log    *slog.Logger
	joins  *rate.Limiter
	fails  *throttle.Throttle // of joining, by address
	issued *throttle.Throttle // certificates, by edge
	count  *prometheus.CounterVec
}

const (
	// failEvery and failBurst are the budget of failed attempts to join of an address.
	failEvery = 6 * time.Second
	failBurst = 10
	// issueEvery and issueBurst are how many certificates an edge gets.
	issueEvery = 10 * time.Second
	issueBurst = 10
	// deadline bounds what a call may take.
	deadline = 10 * time.Second
)

// New returns a server. Errors: a required part of the configuration is missing.
func New(cfg Config) (*Server, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, log: cfg.Logger, fails: throttle.New(failEvery, failBurst), issued: throttle.New(issueEvery, issueBurst),
		joins: rate.NewLimiter(rate.Limit(cfg.JoinRate), int(math.Ceil(5*cfg.JoinRate))),
		count: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tombolo_hub_certificates_total", Help: "Requests for certificates, by kind and result.",
		}, []string{"kind", "result"}),
	}
	cfg.Metrics.MustRegister(s.count)
	return s, nil
}

// Register adds the service to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) { tombolov1.RegisterJoinServiceServer(r, s) }

// write counts and audits what became of a request.
func (s *Server) write(action, edge, peer string, err error, detail ...any) {
	e := audit.Entry{Action: action, Edge: edge, Peer: peer, Result: audit.Granted, Detail: detail}
	if err != nil {
		e.Result, e.Reason = audit.Refused, status.Convert(err).Message()
	}
	s.count.WithLabelValues(action, e.Result).Inc()
	s.cfg.Audit.Write(e)
}

// grant signs a certificate and has it written down.
func (s *Server) grant(action, edge, peer string, key any, notBefore time.Time, detail ...any) (*tombolov1.Credential, error) {
	if wait := s.issued.Wait(edge); wait > 0 {
		err := comeAgain("too many certificates for this edge", wait)
		s.write(action, edge, peer, err, detail...)
		return nil, err
	}
	now := time.Now()
	if t := s.cfg.Standing; t != nil && errors.Is(t.Check(edge, s.cfg.Issuer.begin(now, notBefore)), identity.ErrBarred) {
		// What is issued from now on may be accepted, although it begins earlier by habit.
		if at := now.Truncate(time.Second); at.After(notBefore) {
			notBefore = at
		}
	}
	chain, cert, err := s.cfg.Issuer.Sign(edge, key, now, notBefore)
	if err != nil {
		s.log.Error("no certificate can be signed", "edge", edge, "err", err)
		return nil, status.Error(codes.Unavailable, "the hub can't sign certificates now")
	}
	s.issued.Fail(edge)
	detail = append(detail, "serial", cert.SerialNumber.Text(16), "not_after", cert.NotAfter.UTC().Format(time.RFC3339))
	s.write(action, edge, peer, nil, detail...)
	return &tombolov1.Credential{Certificates: chain, Authorities: raw(s.cfg.Authorities()), TimeMs: now.UnixMilli()}, nil
}

// Renew gives an edge another certificate.
func (s *Server) Renew(ctx context.Context, req *tombolov1.RenewRequest) (*tombolov1.RenewResponse, error) {
	c, ok := identity.FromContext(ctx)
	if !ok || c.Name() == "" {
		return nil, status.Error(codes.Unauthenticated, "a client certificate is needed")
	}
	key, notBefore, err := s.mayRenew(c, req)
	if err != nil {
		s.write("renew", c.Name(), identity.Addr(ctx), err)
		identity.Leave(ctx)
		return nil, err
	}
	credential, err := s.grant("renew", c.Name(), identity.Addr(ctx), key, notBefore, "expired", c.Lapsed())
	if err != nil {
		return nil, err
	}
	return &tombolov1.RenewResponse{Credential: credential}, nil
}

// mayRenew returns the key to sign and when the certificate begins at the earliest: after the one before, even if that is of
// a hub whose clock is ahead, so that it is the newest one to all.
func (s *Server) mayRenew(c *identity.Conn, req *tombolov1.RenewRequest) (any, time.Time, error) {
	key, err := publicKey(req.GetRequest())
	if err != nil {
		return nil, time.Time{}, status.Error(codes.InvalidArgument, err.Error())
	}
	if c.Lapsed() && !equal(key, c.Key()) {
		return nil, time.Time{}, status.Error(codes.PermissionDenied, "an expired certificate is renewed for the same key only")
	}
	return key, c.NotBefore().Add(time.Second), nil
}

func equal(a, b crypto.PublicKey) bool {
	k, ok := a.(interface{ Equal(x crypto.PublicKey) bool })
	return ok && k.Equal(b)
}

// Check tells an edge what has changed.
func (s *Server) Check(ctx context.Context, req *tombolov1.CheckRequest) (*tombolov1.CheckResponse, error) {
	c, ok := identity.FromContext(ctx)
	if !ok || c.Name() == "" {
		return nil, status.Error(codes.Unauthenticated, "a client certificate is needed")
	}
	out := &tombolov1.CheckResponse{
		Renew: !s.cfg.Issuer.Current(c.Authority()), TimeMs: time.Now().UnixMilli(), IntervalMs: s.cfg.CheckInterval.Milliseconds(),
	}
	if all := s.cfg.Authorities(); !bytes.Equal(pki.Hash(all), req.GetAuthoritiesHash()) {
		out.Authorities = raw(all)
	}
	return out, nil
}

func raw(certs []*x509.Certificate) [][]byte {
	out := make([][]byte, len(certs))
	for i, c := range certs {
		out[i] = c.Raw
	}
	return out
}

// comeAgain is RESOURCE_EXHAUSTED with a google.rpc.RetryInfo.
func comeAgain(why string, wait time.Duration) error {
	s := status.New(codes.ResourceExhausted, why)
	if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)}); err == nil {
		s = detailed
	}
	return s.Err()
}
