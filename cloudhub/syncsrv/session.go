package syncsrv

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// session is one edge's stream. It has one goroutine, of gRPC, which receives. All else is done in turns, by workers: see
// turn. Fields without a remark belong to whose turn it is.
type session struct {
	job
	outbox

	srv    *Server
	stream tombolov1.SyncService_SyncServer
	edge   string
	epoch  string // that the edge was told
	log    edgeLog
	ctx    context.Context         // of the session; its cause is why it ended
	cancel context.CancelCauseFunc // see end

	hello  *tombolov1.Hello // nil once it was answered
	scope  scope.Scope      // the edge's, as of when the subscriptions were last brought in line with it
	subs   []*subscription
	inputs []*input // that views of subs depend on
	// resolver works out views for as long as a turn lasts; nil before it is needed.
	resolver *scope.Resolver
	review   bool // views are to be worked out anew, whether inputs have moved or not
	next     int  // which of subs is the first to send more of its catch-up
	lastID   uint32
	// held is what the edge said it holds, by resource, until the subscription has taken it over.
	held map[schema.GroupResource]position
	// demand is what the edge wants of what its scope offers on demand.
	demand    []schema.GroupResource
	buf       []*watchlog.Event // scratch of live subscriptions, there during a turn
	questions questions

	shelf shelf
	can   capabilities  // never changes
	needs *rate.Limiter // of Needs, and of inventories that nobody asked for; nil before the first
	wants *rate.Limiter // of Demands; likewise

	blocked bool                             // something was not done in this turn, because there was no room
	tickAt  time.Time                        // when to tick next
	leaveAt time.Time                        // when to ask the edge to go elsewhere; zero for never
	endAt   time.Time                        // when to end the session of an edge that was asked to leave; zero while it was not
	armed   time.Time                        // when the clock wakes the session; zero: it does not
	report  atomic.Pointer[tombolov1.Report] // what the edge last said that it holds; nil before

	standing standing
	status   atomic.Pointer[Status] // nil before the first tick

	rescoped atomic.Bool             // the edge's scope may have changed
	leave    atomic.Pointer[leaving] // the edge is to be asked to leave

	mu     sync.Mutex
	mail   []letter // guarded by mu: what other goroutines want done
	closed bool     // guarded by mu
	// unread is how many bytes of messages are among the mail.
	unread atomic.Int64
}

const (
	// pageEvents is how many events a live subscription takes from its log in one turn.
	pageEvents = 64
	// batchBytes is how many bytes of objects a batch holds at most, unless a single object is larger.
	batchBytes = 128 << 10
)

func newSession(
	ctx context.Context, srv *Server, stream tombolov1.SyncService_SyncServer, edge string, hello *tombolov1.Hello,
	cancel context.CancelCauseFunc,
) *session {
	s := &session{
		srv: srv, stream: stream, edge: edge, log: edgeLog{srv.log, edge}, ctx: ctx, cancel: cancel, hello: hello,
		held: make(map[schema.GroupResource]position, len(hello.GetPositions())), can: meet(hello.GetCapabilities()),
	}
	s.work = s
	for _, p := range hello.GetPositions() {
		s.held[groupResource(p.GetResource())] = readPosition(hello, p)
	}
	return s
}

// serve runs the session until it ends, and returns why.
func (s *session) serve() error {
	defer s.close()
	s.srv.queue.later(&s.job)
	s.cancel(s.receive())
	return context.Cause(s.ctx)
}

// Wake has the session looked after soon.
func (s *session) Wake() { s.srv.queue.wake(&s.job) }

// end ends the session, from any goroutine. Only the first call counts.
func (s *session) end(err error) {
	s.cancel(err)
	endStream(s.ctx, context.Cause(s.ctx))
}

// begin answers the edge's hello.
func (s *session) begin(ctx context.Context) (err error) {
	hello := s.hello
	s.hello, s.standing.software = nil, hello.GetSoftware()
	if s.demand, err = readDemand(hello.GetDemand()); err != nil {
		return err
	}
	if err := s.welcome(hello); err != nil {
		return err
	}
	s.shelf.hash = hello.GetDocumentsHash()
	s.tickAt = time.Now().Add(s.srv.cfg.ProgressInterval)
	if age := s.srv.cfg.MaxSessionAge; age > 0 {
		s.leaveAt = time.Now().Add(jittered(age))
	}
	return s.subscribe(ctx)
}

// sub returns the subscription with an id, nil when there is none.
func (s *session) sub(id uint32) *subscription {
	for _, u := range s.subs {
		if u.id == id {
			return u
		}
	}
	return nil
}

// sameEpoch ends the session when the hub's cloud is another one than the edge was told: it comes back and learns that.
func (s *session) sameEpoch() error {
	if now := s.srv.cfg.Source.Epoch(); now != s.epoch {
		return status.Errorf(codes.Unavailable, "the hub follows another cluster now, %s", now)
	}
	return nil
}

// sendProgress sends p together with what the hub has lost sight of.
func (s *session) sendProgress(p *tombolov1.Progress) error {
	for _, u := range s.subs {
		if u.saidLost = u.isLost(); u.saidLost {
			if loss := u.loss(); loss != nil {
				p.Lost = append(p.Lost, loss)
			}
		}
	}
	return s.send(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Progress{Progress: p}})
}

// close lets go of all that the session holds, once nobody runs it any more. Mail that comes later is refused.
func (s *session) close() {
	s.srv.queue.finish(&s.job)
	s.mu.Lock()
	s.closed = true
	mail := s.mail
	s.mail = nil
	s.mu.Unlock()
	ended, cancel := context.WithCancel(s.ctx)
	cancel()
	for _, l := range mail { // a log that was opened meanwhile must be let go of; with ended, nothing else happens
		if err := l.do(ended); err != nil && !errors.Is(err, context.Canceled) {
			s.log.Debug("after the end of the session", "err", err)
		}
	}
	for _, u := range s.subs {
		u.close()
	}
	closeInputs(s.inputs)
	s.subs, s.inputs, s.resolver = nil, nil, nil
}

// rescope looks whether the edge's scope has become another, and brings the subscriptions in line with it. What other
// edges may hold changes far more often.
func (s *session) rescope(ctx context.Context) error {
	sc := s.srv.cfg.Scopes.For(s.edge)
	if sc.Same(s.scope) {
		return nil
	}
	s.scope = sc
	s.forgetLooks() // what was worked out in this turn was for another scope
	return s.subscribe(ctx)
}

// subscribe brings the subscriptions in line with the session's scope.
func (s *session) subscribe(ctx context.Context) error {
	sc := s.scope
	want, vain := s.wanted(sc)
	if err := s.withdraw(want, "it is no longer in the edge's scope"); err != nil {
		return err
	}
	for _, gr := range want {
		i := slices.IndexFunc(s.subs, func(u *subscription) bool { return u.gr == gr })
		switch {
		case i < 0:
			s.add(ctx, gr, sc, s.held[gr])
		case s.subs[i].rescope(sc):
			s.subs[i].open(ctx)
		}
		delete(s.held, gr)
	}
	if err := s.decline(vain); err != nil {
		return err
	}
	for gr := range s.held {
		if err := s.unsubscribe(gr, "it is not in the edge's scope"); err != nil {
			return err
		}
	}
	s.held = nil
	s.dropInputs()
	return nil
}
