package syncsrv

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/tombolo-sync/tombolo/cloudhub/identity"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// Version is the protocol version that the hub speaks.
const Version = 1

// Server serves the sync protocol.
type Server struct {
	tombolov1.UnimplementedSyncServiceServer

	cfg     Config
	log     *slog.Logger
	metrics *metrics
	grpc    *grpc.Server
	health  *health.Server
	queue   queue                 // of sessions that have something to do
	clock   clock                 // of sessions
	wg      sync.WaitGroup        // the goroutines of all these
	stop    chan struct{}         // closed by Shutdown
	watch   sync.Once             // starts watchChanges
	stopped sync.Once             // closes stop
	index   atomic.Pointer[index] // of the newest documents that an edge was told of
	// projections are what subscriptions of equal views share.
	projections *projections

	mu       sync.Mutex          // guards all below
	sessions map[string]*session // the newest of each edge
	count    int                 // sessions that run, replaced ones included
	draining bool
	empty    chan struct{} // closed, by emptied, when the server drains and no session is left
	emptied  func()
}

// New returns a server. Errors: a required part of the configuration is missing.
func New(cfg Config) (*Server, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, log: cfg.Logger, metrics: newMetrics(cfg.Metrics), sessions: map[string]*session{},
		projections: newProjections(), stop: make(chan struct{}), empty: make(chan struct{}),
	}
	s.emptied = sync.OnceFunc(func() { close(s.empty) })
	s.queue.workers, s.queue.spawn = runtime.GOMAXPROCS(0)+1, s.wg.Go
	s.clock.queue, s.clock.spawn, s.clock.stop = &s.queue, s.wg.Go, s.stop
	s.grpc = grpc.NewServer(s.options()...)
	s.health = health.NewServer()
	healthpb.RegisterHealthServer(s.grpc, s.health)
	tombolov1.RegisterSyncServiceServer(s.grpc, s)
	if cfg.Register != nil {
		cfg.Register(s.grpc)
	}
	return s, nil
}

// Sync runs one edge's session. Who breaks the rules is told so, and loses the connection.
func (s *Server) Sync(stream tombolov1.SyncService_SyncServer) error {
	err := s.sync(stream)
	switch status.Code(err) {
	case codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied:
		identity.Expel(stream.Context(), "session", status.Convert(err).Message())
		expel(stream.Context())
	}
	return err
}

func (s *Server) sync(stream tombolov1.SyncService_SyncServer) error {
	hello, err := s.receiveHello(stream)
	if err != nil {
		return err
	}
	if err := checkHello(hello); err != nil {
		return err
	}
	edge, err := identity.Rule{Insecure: s.cfg.Insecure}.Edge(stream.Context(), hello.GetEdge())
	if err != nil {
		s.log.Warn("edge refused", "claims", hello.GetEdge(), "peer", identity.Addr(stream.Context()), "reason", err)
		return err
	}
	if err := s.standing(stream.Context(), edge); err != nil {
		s.log.Warn("edge refused", "edge", edge, "peer", identity.Addr(stream.Context()), "reason", err)
		return err
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	sess := newSession(ctx, s, stream, edge, hello, cancel)
	if err := s.admit(sess); err != nil {
		return err
	}
	defer s.dismiss(sess)
	s.log.Info("session opened", "edge", edge, "software", hello.GetSoftware(), "peer", identity.Addr(ctx))
	err = sess.serve()
	s.log.Info("session closed", "edge", edge, "reason", err)
	return toStatus(err)
}

// standing tells whether an edge may be here at all: PERMISSION_DENIED when not, UNAVAILABLE when that can't be told.
func (s *Server) standing(ctx context.Context, edge string) error {
	if s.cfg.Standing == nil {
		return nil
	}
	var since time.Time
	if c, ok := identity.FromContext(ctx); ok {
		since = c.NotBefore()
	}
	err := s.cfg.Standing.Check(edge, since)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, identity.ErrBarred):
		return status.Error(codes.PermissionDenied, err.Error())
	default:
		return status.Error(codes.Unavailable, err.Error())
	}
}

var errNoHello = status.Error(codes.DeadlineExceeded, "no Hello has come")

// receiveHello returns the first message of a stream, which must be a Hello of our protocol version.
func (s *Server) receiveHello(stream tombolov1.SyncService_SyncServer) (*tombolov1.Hello, error) {
	late := time.AfterFunc(s.cfg.helloLimit, func() { endStream(stream.Context(), errNoHello) })
	req, err := stream.Recv()
	if !late.Stop() {
		return nil, errNoHello
	}
	if err != nil {
		return nil, unreadable(err)
	}
	hello := req.GetHello()
	switch {
	case hello == nil:
		return nil, status.Error(codes.InvalidArgument, "the first message must be a Hello")
	case hello.GetVersion() != Version:
		return nil, status.Errorf(codes.FailedPrecondition,
			"the edge speaks protocol version %d, this hub speaks %d: upgrade the older of the two", hello.GetVersion(), Version)
	}
	return hello, nil
}

var errReplaced = status.Error(codes.Aborted, "a newer session of the same edge took over")

// admit makes sess the session of its edge. An older one is ended: the newest wins, so that an edge whose link broke
// without a word is never locked out by its own past.
func (s *Server) admit(sess *session) error {
	s.watch.Do(s.watchChanges)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return status.Error(codes.Unavailable, "the hub is shutting down")
	}
	if s.count >= s.cfg.MaxSessions {
		return full()
	}
	if old := s.sessions[sess.edge]; old != nil {
		s.log.Warn("session replaced by a newer one", "edge", sess.edge)
		s.metrics.replaced.Inc()
		old.end(errReplaced)
	}
	s.sessions[sess.edge] = sess
	s.count++
	s.metrics.sessions.Set(float64(s.count))
	return nil
}

func (s *Server) dismiss(sess *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[sess.edge] == sess {
		delete(s.sessions, sess.edge)
	}
	s.count--
	s.metrics.sessions.Set(float64(s.count))
	if s.draining && s.count == 0 {
		s.emptied()
	}
}

// toStatus turns the error that ended a session into a gRPC status.
func toStatus(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return status.Error(codes.Canceled, err.Error())
	}
	return status.Error(codes.Internal, err.Error())
}
