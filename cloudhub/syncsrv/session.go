package syncsrv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// session is one edge's stream. Fields without a remark belong to the goroutine of run.
type session struct {
	srv    *Server
	stream tombolov1.SyncService_SyncServer
	edge   string
	epoch  string // that the edge was told
	log    *slog.Logger
	cancel context.CancelCauseFunc // ends the session, from any goroutine

	subs   []*subscription
	byID   map[uint32]*subscription
	lastID uint32
	// held is what the edge said it holds, by resource, until the subscription has taken it over.
	held map[schema.GroupResource]position
	// demand is what the edge wants of what its scope offers on demand.
	demand    []schema.GroupResource
	buf       []*watchlog.Event // scratch of live subscriptions
	questions questions

	shelf shelf
	can   capabilities  // never changes
	needs *rate.Limiter // of Needs

	sent     int64        // bytes of objects and documents sent, as they were on the wire
	pace     pace         // of live events
	received atomic.Int64 // bytes of these that the edge has taken over, as its acks say
	draining atomic.Bool
	report   atomic.Pointer[tombolov1.Report] // what the edge last said that it holds; nil before

	// wake has room for one signal, which says that there may be something to do.
	wake watchlog.Signal

	mu     sync.Mutex
	mail   []func(context.Context) error // guarded by mu: what other goroutines want done by run
	closed bool                          // guarded by mu
	// waiting is how many bytes of messages are among the mail.
	waiting atomic.Int64
}

// position is how far an edge has come with a resource.
type position struct {
	epoch, view string
	rev, staged uint64
}

const (
	// pageEvents is how many events a live subscription takes from its log in one turn.
	pageEvents = 64
	// batchBytes is how many bytes of objects a batch holds at most, unless a single object is larger.
	batchBytes = 256 << 10
	// maxMail and maxMailBytes bound what may wait for run. An edge may send the inventory of a large resource at a time when
	// run waits for that edge to read, so that there must be room for it.
	maxMail      = 4096
	maxMailBytes = 64 << 20
)

func newSession(
	srv *Server, stream tombolov1.SyncService_SyncServer, edge string, hello *tombolov1.Hello, cancel context.CancelCauseFunc,
) *session {
	s := &session{
		srv: srv, stream: stream, edge: edge, log: srv.log.With("edge", edge), cancel: cancel,
		byID: map[uint32]*subscription{}, held: map[schema.GroupResource]position{},
		buf: make([]*watchlog.Event, 0, pageEvents), wake: make(watchlog.Signal, 1), pace: newPace(),
		questions: newQuestions(), can: meet(hello.GetCapabilities()), needs: rate.NewLimiter(needRate, needBurst),
	}
	for _, p := range hello.GetPositions() {
		gr := schema.GroupResource{Group: p.GetResource().GetGroup(), Resource: p.GetResource().GetResource()}
		s.held[gr] = position{epoch: p.GetEpoch(), view: p.GetView(), rev: p.GetRev(), staged: p.GetStagedRev()}
	}
	return s
}

// run serves the session until it ends. It returns as soon as ctx is done, even while a send is blocked by an edge that
// does not read: what is left then ends with the stream.
func (s *session) run(ctx context.Context, hello *tombolov1.Hello) error {
	ended := make(chan error, 1)
	s.srv.wg.Go(func() { ended <- s.serve(ctx, hello) })
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// serve is the session's main loop.
func (s *session) serve(ctx context.Context, hello *tombolov1.Hello) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("session panicked", "panic", p, "stack", string(debug.Stack()))
			s.srv.metrics.panics.Inc()
			err = status.Error(codes.Internal, "internal error")
		}
		s.close(ctx)
	}()
	if s.demand, err = readDemand(hello.GetDemand()); err != nil {
		return err
	}
	if err := s.welcome(); err != nil {
		return err
	}
	s.srv.wg.Go(s.receive)
	s.shelf.hash = hello.GetDocumentsHash()
	if err := s.subscribe(ctx); err != nil {
		return err
	}
	return s.loop(ctx)
}

func (s *session) loop(ctx context.Context) error {
	progress := time.NewTicker(s.srv.cfg.ProgressInterval)
	defer progress.Stop()
	docs, scopes := s.srv.cfg.Source.Documents(), s.srv.cfg.Scopes
	docsChanged, scopesChanged := docs.Changed(), scopes.Changed()
	for {
		busy, err := s.turn(ctx)
		if err != nil {
			return err
		}
		if busy && ctx.Err() == nil {
			select {
			case <-progress.C: // also while there is always something to send
				err = s.tick(ctx)
			default:
			}
			if err != nil {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.wake:
		case <-s.pace.timer.C:
		case <-progress.C:
			err = s.tick(ctx)
		case <-docsChanged:
			docsChanged = docs.Changed() // turn looks after it
		case <-scopesChanged:
			scopesChanged = scopes.Changed()
			err = s.subscribe(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// turn runs the mail and gives the documents and every subscription one step. It tells whether there is more to do at once.
func (s *session) turn(ctx context.Context) (busy bool, err error) {
	s.mu.Lock()
	mail := s.mail
	s.mail = nil
	s.mu.Unlock()
	for _, do := range mail {
		if err := do(ctx); err != nil {
			return false, err
		}
	}
	if s.draining.Swap(false) {
		return false, s.sendDrain(ctx)
	}
	if !s.full() {
		if busy, err = s.stepDocuments(); err != nil {
			return false, err
		}
	}
	held := s.pace.holds(s.received.Load())
	flowing := false
	for _, u := range s.subs {
		if s.full() {
			return false, nil // an ack will wake us
		}
		if held && u.phase == live && len(u.answers) == 0 {
			continue // an ack or the timer will wake us
		}
		more, err := u.step(ctx)
		if err != nil {
			return false, fmt.Errorf("%s: %w", u.gr, err)
		}
		if err := u.answer(); err != nil {
			return false, err
		}
		busy, flowing = busy || more, flowing || more && u.phase == live
	}
	s.pace.flowing = flowing
	if slices.ContainsFunc(s.subs, func(u *subscription) bool { return u.isLost() != u.saidLost }) {
		return busy, s.sendProgress(&tombolov1.Progress{}) // edges are to say so at once
	}
	return busy, nil
}

// full tells whether as many bytes are under way as may be.
func (s *session) full() bool { return s.sent-s.received.Load() >= s.srv.cfg.Window }

// tick sends what is due now and then: positions that moved without an event, digests to compare, another attempt at
// resources that could not be opened.
func (s *session) tick(ctx context.Context) error {
	if err := s.sameEpoch(); err != nil {
		return err
	}
	p := &tombolov1.Progress{}
	now := time.Now()
	for _, u := range s.subs {
		if err := u.tick(ctx, now, p); err != nil {
			return err
		}
	}
	return s.sendProgress(p)
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

// post has run do something; false when the session is over.
func (s *session) post(do func(context.Context) error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if len(s.mail) >= maxMail {
		s.cancel(status.Error(codes.ResourceExhausted, "the edge sends more than the hub can take"))
		return false
	}
	s.mail = append(s.mail, do)
	s.signal()
	return true
}

func (s *session) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // a signal is waiting already
	}
}

// close lets go of all that the session holds. Mail that comes later is refused.
func (s *session) close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	mail := s.mail
	s.mail = nil
	s.mu.Unlock()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for _, do := range mail { // a log that was opened meanwhile must be let go of; with ended, nothing else happens
		if err := do(ended); err != nil && !errors.Is(err, context.Canceled) {
			s.log.Debug("after the end of the session", "err", err)
		}
	}
	for _, u := range s.subs {
		u.close()
	}
	s.subs = nil
}

// receive takes messages off the stream until it ends. It never waits for run, so that an edge which waits for its own
// messages to be taken can't lock itself up.
func (s *session) receive() {
	for {
		req, err := s.stream.Recv()
		if err == nil {
			err = s.handle(req)
		}
		if errors.Is(err, io.EOF) {
			err = status.Error(codes.Canceled, "the edge closed the stream")
		}
		if err != nil {
			s.cancel(err)
			return
		}
	}
}

func (s *session) handle(req *tombolov1.SyncRequest) error {
	if s.waiting.Load() > maxMailBytes {
		return status.Error(codes.ResourceExhausted, "the edge sends more than the hub can take")
	}
	switch m := req.GetMessage().(type) {
	case *tombolov1.SyncRequest_Ack:
		s.received.Store(max(s.received.Load(), int64(min(m.Ack.GetReceivedBytes(), 1<<62)))) //nolint:gosec // bounded
		s.post(func(context.Context) error { return s.acked(m.Ack) })
	case *tombolov1.SyncRequest_Report:
		s.report.Store(m.Report)
	case *tombolov1.SyncRequest_Inventory:
		s.deliver(req, func(ctx context.Context) error { return s.inventory(ctx, m.Inventory) })
	case *tombolov1.SyncRequest_Ranges:
		s.deliver(req, func(ctx context.Context) error { return s.ranges(ctx, m.Ranges) })
	case *tombolov1.SyncRequest_Demand:
		s.deliver(req, func(ctx context.Context) error { return s.demanded(ctx, m.Demand) })
	case *tombolov1.SyncRequest_DocumentNeed:
		s.deliver(req, func(ctx context.Context) error { return s.documentNeed(ctx, m.DocumentNeed) })
	case *tombolov1.SyncRequest_Question:
		s.deliver(req, func(ctx context.Context) error { return s.question(ctx, m.Question) })
	case *tombolov1.SyncRequest_Need:
		if !s.can.patches {
			return status.Error(codes.InvalidArgument, "a Need is out of place here: patches were not agreed on")
		}
		s.deliver(req, func(ctx context.Context) error { return s.need(ctx, m.Need) })
	default:
		return status.Errorf(codes.InvalidArgument, "a %T is out of place here", m)
	}
	return nil
}

// deliver has run take in a message, which counts as waiting until then.
func (s *session) deliver(req *tombolov1.SyncRequest, take func(context.Context) error) {
	size := int64(proto.Size(req))
	s.waiting.Add(size)
	s.post(func(ctx context.Context) error {
		s.waiting.Add(-size)
		return take(ctx)
	})
}

func (s *session) acked(a *tombolov1.Ack) error {
	if u := s.byID[a.GetSubscription()]; u != nil {
		return u.acked(a.GetRev())
	}
	return nil // of a subscription that has been replaced
}

func (s *session) inventory(ctx context.Context, inv *tombolov1.Inventory) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if u := s.byID[inv.GetSubscription()]; u != nil {
		return u.inventory(inv)
	}
	return nil
}

// subscribe brings the subscriptions in line with the edge's scope.
func (s *session) subscribe(ctx context.Context) error {
	sc := s.srv.cfg.Scopes.For(s.edge)
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
	clear(s.held)
	return nil
}

// drain has the session ended in good order, from any goroutine.
func (s *session) drain() {
	s.draining.Store(true)
	s.signal()
}
