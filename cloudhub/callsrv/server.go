package callsrv

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// Server serves the calls of edges.
type Server struct {
	tombolov1.UnimplementedCallServiceServer

	cfg     Config
	log     *slog.Logger
	metrics *metrics
	gate    *gate
	stopped context.Context // ends when no call may go on any more
	stop    context.CancelFunc
	// unwatched ends when no watch may go on any more.
	unwatched   context.Context
	stopWatches context.CancelFunc
	tasks       sync.WaitGroup // the goroutines of calls
}

// New returns a server. Errors: a required part of the configuration is missing.
func New(cfg Config) (*Server, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, log: cfg.Logger, metrics: newMetrics(cfg.Metrics), gate: newGate(cfg.MaxPerEdge, cfg.MaxCalls),
	}
	s.stopped, s.stop = context.WithCancel(context.Background())
	s.unwatched, s.stopWatches = context.WithCancel(s.stopped)
	return s, nil
}

// Register adds the service to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) { tombolov1.RegisterCallServiceServer(r, s) }

// MaxStreams is how many streams the calls of one edge need on its connection: some more than it may have, so that it is
// refused rather than made to wait.
func (s *Server) MaxStreams() uint32 { return uint32(s.cfg.MaxPerEdge) + 32 }

// Call carries one request.
func (s *Server) Call(stream tombolov1.CallService_CallServer) error {
	if s.cfg.Identity.Insecure {
		claim, err := readClaim(stream)
		if err != nil {
			return err
		}
		edge, err := s.cfg.Identity.Edge(stream.Context(), claim.GetEdge())
		if err != nil {
			return err
		}
		return s.enter(stream, edge, func() error { return s.carry(stream, edge, claim) })
	}
	// Nothing is read of what an edge sends beyond what it may: gRPC holds what has come of a message until all of it is there.
	edge, err := s.cfg.Identity.Edge(stream.Context(), "")
	if err != nil {
		return err // it was written down, as far as there is somebody to tell of
	}
	return s.enter(stream, edge, func() error {
		claim, err := readClaim(stream)
		if err != nil {
			return err
		}
		if _, err := s.cfg.Identity.Edge(stream.Context(), claim.GetEdge()); err != nil {
			return err
		}
		return s.carry(stream, edge, claim)
	})
}

// enter serves a call of an edge, if there is room for it.
func (s *Server) enter(stream tombolov1.CallService_CallServer, edge string, serve func() error) error {
	leave, err := s.gate.enter(edge)
	if err != nil {
		s.metrics.refused.Inc()
		s.turnedAway(stream.Context(), edge, err)
		return err
	}
	defer leave()
	return serve()
}

// readClaim returns the first message of a stream, which must be a head.
func readClaim(stream tombolov1.CallService_CallServer) (*tombolov1.CallHead, error) {
	first, err := stream.Recv()
	if err != nil {
		return nil, misused(stream.Context(), toStatus(unreadable(err)))
	}
	claim := first.GetHead()
	if claim == nil {
		return nil, misused(stream.Context(), status.Error(codes.InvalidArgument, "the first message must be a head"))
	}
	return claim, nil
}

// carry carries the request of a known edge.
func (s *Server) carry(stream tombolov1.CallService_CallServer, edge string, claim *tombolov1.CallHead) error {
	h, err := readHead(claim, s.cfg.MaxURI, s.cfg.MaxHeader)
	if err != nil {
		s.turnedAway(stream.Context(), edge, err)
		return err
	}
	if claim.GetWithinScope() {
		if err := narrow(h, s.cfg.Scopes.For(edge)); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	verb, stopped := h.verb(), s.stopped
	if verb == "watch" {
		stopped = s.unwatched
	}
	defer context.AfterFunc(stopped, func() { cancel(errStopping) })()
	idle := time.AfterFunc(s.cfg.Idle, func() { cancel(errIdle) })
	defer idle.Stop()
	x := &exchange{srv: s, stream: stream, edge: edge, head: h, touch: func() { idle.Reset(s.cfg.Idle) }}
	x.body = &upstream{stream: stream, left: s.cfg.MaxBody, touch: x.touch}
	s.metrics.inFlight.Inc()
	defer s.metrics.inFlight.Dec()
	start := time.Now()
	err = x.run(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil && stream.Context().Err() == nil {
		err = cause
	}
	s.metrics.calls.WithLabelValues(verb, codeLabel(x.code)).Inc()
	s.record(stream.Context(), x, verb, time.Since(start), err)
	err = toStatus(err)
	if errors.Is(x.body.failure(), errFrame) {
		return misused(stream.Context(), err)
	}
	return err
}

var (
	errStopping = status.Error(codes.Unavailable, "the hub is shutting down")
	errIdle     = status.Error(codes.Aborted, "nothing was sent for too long")
)

// verb names the request in logs and metrics.
func (h *head) verb() string {
	switch {
	case h.upgrade != "":
		return "connect"
	case h.method == http.MethodGet && isTrue(h.url.Query().Get("watch")):
		return "watch"
	case h.method == http.MethodGet:
		return "get"
	case h.method == http.MethodHead:
		return "head"
	case h.method == http.MethodOptions:
		return "options"
	case h.method == http.MethodPost:
		return "create"
	case h.method == http.MethodPut:
		return "update"
	case h.method == http.MethodPatch:
		return "patch"
	default:
		return "delete"
	}
}

func isTrue(value string) bool { return value == "true" || value == "1" }

// toStatus turns the error that ended a call into a gRPC status.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	switch {
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, err.Error())
	case errors.Is(err, errFrame):
		return status.Error(codes.InvalidArgument, err.Error())
	default:
		return status.Error(codes.Unknown, err.Error())
	}
}

// Shutdown takes no more calls, ends the watches, which can be resumed elsewhere, gives all other calls until ctx ends, and
// ends the rest. It does not wait for them to be gone: they are when the gRPC server is.
func (s *Server) Shutdown(ctx context.Context) {
	s.gate.close()
	s.stopWatches()
	select {
	case <-s.gate.empty:
	case <-ctx.Done():
	}
	s.stop()
}

// Wait returns when the goroutines of all calls have ended, which they do when their streams have.
func (s *Server) Wait() { s.tasks.Wait() }
