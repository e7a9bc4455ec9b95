package syncsrv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// input is a resource that views of a session depend on: see scope.Input. It belongs to whose turn the session is.
type input struct {
	s  *session
	gr schema.GroupResource
	// log is nil when the cloud does not serve the resource.
	log     *watchlog.Log
	release func()
	// snap is the state that this turn's views are worked out at; nil before the first look.
	snap   *watchlog.Snapshot
	reader *watchlog.Reader
	terms  []watchlog.Term // of the reader
	own    *scope.View     // of the objects that count, as of the last look; nil: all do
	dirty  atomic.Bool     // the log may have something new; set by anybody
}

// Wake takes note that the log may have something new.
func (in *input) Wake() {
	if !in.dirty.Load() && !in.dirty.Swap(true) {
		in.s.Wake()
	}
}

func (in *input) close() {
	if in.reader != nil {
		in.reader.Close()
	}
	if in.release != nil {
		in.release()
	}
	in.reader, in.release, in.log = nil, nil, nil
}

// openInputs opens the resources that a view depends on and waits until their first state is in; waiting is called when
// that may take a while.
func (s *session) openInputs(ctx context.Context, grs []schema.GroupResource, waiting func(reason string)) (out []*input, err error) {
	for _, gr := range grs {
		log, release, err := s.srv.cfg.Source.Open(ctx, gr)
		if errors.Is(err, source.ErrUnknownResource) {
			out = append(out, &input{s: s, gr: gr})
			continue
		}
		if err == nil {
			out = append(out, &input{s: s, gr: gr, log: log, release: release})
			if !log.IsReady() {
				waiting(fmt.Sprintf("the hub is still loading %s, on which it depends", gr))
			}
			err = loaded(ctx, log)
		}
		if err != nil {
			closeInputs(out)
			return nil, fmt.Errorf("what it depends on, %s: %w", gr, err)
		}
	}
	return out, nil
}

// loaded waits until a log has its first state.
func loaded(ctx context.Context, log *watchlog.Log) error {
	select {
	case <-log.Ready():
		return nil
	case <-log.Done():
		return errors.New("it was closed while it was loading")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// dropInputs lets go of the inputs that no view depends on any more.
func (s *session) dropInputs() {
	s.inputs = slices.DeleteFunc(s.inputs, func(in *input) bool {
		if slices.ContainsFunc(s.subs, func(u *subscription) bool { return slices.Contains(u.scope.Sources(u.gr), in.gr) }) {
			return false
		}
		in.close()
		return true
	})
}

func closeInputs(inputs []*input) {
	for _, in := range inputs {
		in.close()
	}
}

// heldInputs takes the resources that a view depends on without waiting, and tells whether it has all of them.
func (s *session) heldInputs(grs []schema.GroupResource) bool {
	for _, gr := range grs {
		if s.input(gr) != nil {
			continue
		}
		log, release, ok := s.srv.cfg.Held.Held(gr)
		if !ok {
			return false
		}
		s.adopt([]*input{{s: s, gr: gr, log: log, release: release}})
	}
	return true
}

// adopt takes over inputs, but for those that are there already and go on.
func (s *session) adopt(inputs []*input) {
	for _, in := range inputs {
		switch old := s.input(in.gr); {
		case old == nil:
			s.inputs = append(s.inputs, in)
		case old.goesOn() || in.log == nil:
			in.close()
		default:
			old.close()
			s.inputs[slices.Index(s.inputs, old)] = in
			s.review = true // what was worked out with the old one
		}
	}
}

// goesOn tells whether the input has a log that may move.
func (in *input) goesOn() bool {
	if in.log == nil {
		return false
	}
	select {
	case <-in.log.Done():
		return false
	default:
		return true
	}
}

func (s *session) input(gr schema.GroupResource) *input {
	for _, in := range s.inputs {
		if in.gr == gr {
			return in
		}
	}
	return nil
}

// errNoInput is why a view can't be told yet.
var errNoInput = errors.New("a resource that the view depends on is not open")

// viewOf returns what a scope makes of a resource, as of this turn.
func (s *session) viewOf(sc scope.Scope, r *watchlog.Resource) (scope.View, error) {
	if len(sc.Inputs(r.GroupResource())) == 0 {
		return sc.View(r)
	}
	if s.resolver == nil {
		s.resolver = &scope.Resolver{Scope: sc, Look: s.look, Fault: func(err error) { s.log.Debug("references", "err", err) }}
	}
	s.resolver.Scope = sc
	view, err := s.resolver.View(r)
	if err == nil {
		err = s.followInputs(sc)
	}
	return view, err
}

// look returns the state of an input that this turn's views are worked out at.
func (s *session) look(gr schema.GroupResource) (*watchlog.Snapshot, error) {
	in := s.input(gr)
	switch {
	case in == nil:
		return nil, fmt.Errorf("%w: %s", errNoInput, gr)
	case in.log == nil:
		return nil, nil
	case in.snap == nil:
		snap := in.log.Snapshot()
		in.snap = &snap
	}
	return in.snap, nil
}

// forgetLooks makes the next view one of a new moment.
func (s *session) forgetLooks() {
	s.resolver = nil
	for _, in := range s.inputs {
		in.snap = nil
	}
}

// followInputs has each input that was looked at wake the session when something happens that concerns it.
func (s *session) followInputs(sc scope.Scope) error {
	for _, in := range s.inputs {
		if in.snap == nil {
			continue
		}
		terms := []watchlog.Term{watchlog.Everything()}
		if slices.ContainsFunc(sc.InputsFrom(in.gr), scope.Input.Own) {
			own, err := s.resolver.View(in.log.Resource())
			if err != nil {
				return err
			}
			terms, in.own = own.Terms(), &own
		}
		if len(terms) == 0 {
			terms = []watchlog.Term{watchlog.WithKey("")} // the edge may hold nothing of it: no object has that key
		}
		if in.reader != nil && slices.Equal(in.terms, terms) {
			continue
		}
		reader, err := in.snap.NewReader(in, terms...)
		if err != nil {
			return err
		}
		if in.reader != nil {
			in.reader.Close()
		}
		in.reader, in.terms = reader, terms
		in.Wake() // for what has happened since the snapshot
	}
	return nil
}

// reconsider works the views out anew that depend on something which has happened.
func (s *session) reconsider(ctx context.Context) error {
	changed := s.review
	for _, in := range slices.Clone(s.inputs) {
		if !in.dirty.Load() || in.reader == nil {
			continue
		}
		if s.full() {
			s.blocked = true
			return nil
		}
		in.dirty.Store(false)
		concerned, err := in.read(s.scope)
		if err != nil {
			if err := s.reopenInput(ctx, in, err); err != nil {
				return err
			}
			continue
		}
		changed = changed || concerned
	}
	if !changed {
		return nil
	}
	s.review = false
	s.forgetLooks()
	for _, u := range s.subs {
		if u.log == nil || u.phase == failed || len(u.scope.Inputs(u.gr)) == 0 {
			continue
		}
		view, err := s.viewOf(u.scope, u.log.Resource())
		if errors.Is(err, errNoInput) {
			continue // it is being opened
		}
		if err != nil {
			err = u.fail(err)
		} else if u.stale = view.ID() != u.view.ID(); u.stale {
			err = u.amend(ctx, view)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read takes in what has happened and tells whether it may concern a view.
func (in *input) read(sc scope.Scope) (concerned bool, err error) {
	kinds := sc.InputsFrom(in.gr)
	for range maxInputPages {
		page, err := in.reader.Read(in.s.buf)
		if errors.Is(err, watchlog.ErrCompacted) {
			break
		}
		if err != nil {
			return false, err
		}
		for _, e := range page.Events {
			concerned = concerned || in.counts(e) && slices.ContainsFunc(kinds, func(k scope.Input) bool { return k.Concerns(e) })
		}
		if !page.More && len(page.Events) == 0 {
			return concerned, nil
		}
	}
	in.reader.Close()
	in.reader = nil // the next look makes another
	return true, nil
}

// maxInputPages is how many pages of events a turn reads of an input. Who is further behind looks at the state instead.
const maxInputPages = 64

// counts tells whether an event is of an object that counts. A reader may be of more.
func (in *input) counts(e *watchlog.Event) bool {
	if in.own == nil {
		return true
	}
	_, ok := in.own.Transition(e)
	return ok
}

// reopenInput opens anew what depends on an input whose log has ended.
func (s *session) reopenInput(ctx context.Context, in *input, reason error) error {
	s.log.Info("what views depend on was interrupted", "resource", in.gr, "reason", reason)
	in.close()
	s.inputs = slices.DeleteFunc(s.inputs, func(i *input) bool { return i == in })
	s.resolver = nil
	for _, u := range s.subs {
		// What has no log is being opened, or will be, with its inputs.
		if u.log != nil && slices.Contains(u.scope.Sources(u.gr), in.gr) {
			u.leavePhase()
			u.renumber()
			u.open(ctx)
		}
	}
	return nil
}

// amend goes over to another view of the same log. While the edge is being brought to one view it is not sent on to the
// next: however often the view changes, and however slow the edge is, it comes to one after the other. But what has left
// the view is not sent any more.
func (u *subscription) amend(ctx context.Context, view scope.View) error {
	switch {
	case u.phase == opening:
		u.use(view) // before the plan
		return nil
	case u.phase == live && !u.stepOpen:
		if before, err := u.log.SnapshotAt(u.sentRev); err == nil {
			return u.goOver(before, view)
		}
	case u.phase != live && !u.catchup.leaves(view):
		return nil // it stays stale until the edge agrees
	}
	u.leavePhase()
	u.renumber()
	u.use(view)
	u.attempts = 0
	return u.plan(ctx) // which is a reconcile
}

// leaves tells whether an object that is still to be sent is not in a view.
func (c *catchup) leaves(view scope.View) bool {
	return c != nil && slices.ContainsFunc(c.objects, func(o *watchlog.Object) bool { return !view.Matches(o) })
}

// leavePhase takes note of what the edge has come to, because the subscription begins anew.
func (u *subscription) leavePhase() {
	switch u.phase {
	case live:
		u.have.rev = u.sentRev
	case changing, awaiting, reconciling, confirming:
		// It may have the whole of the catch-up, or a part, or none. It has to say.
		u.have.epoch, u.have.view, u.have.staged = u.s.epoch, "", max(u.have.staged, 1)
	case opening, failed:
	}
}

// goOver sends a live edge that holds the subscription's view of a state what is else in another view.
func (u *subscription) goOver(before watchlog.Snapshot, view scope.View) error {
	old := u.view
	u.leavePhase()
	u.renumber()
	u.use(view)
	c, err := u.newCatchup()
	if err != nil {
		return u.fail(err)
	}
	// What the edge holds is known: it need not say it.
	for o := range view.Objects(c.snap) {
		c.digest.Add(o)
		was := before.Get(o.Key())
		if was == nil || !old.Matches(was) || was.UID() != o.UID() || was.Rev() != o.Rev() || was.Checksum() != o.Checksum() {
			c.objects = append(c.objects, o)
		}
	}
	for o := range old.Objects(before) {
		if now := c.snap.Get(o.Key()); now == nil || !view.Matches(now) {
			c.gone = append(c.gone, o.Key())
		}
	}
	if err := u.announce(tombolov1.Plan_PLAN_CHANGES, ""); err != nil {
		return err
	}
	u.start(&c.catchup, changing)
	return nil
}

// use makes view the subscription's.
func (u *subscription) use(view scope.View) {
	old := u.projection
	u.view, u.stale, u.projection = view, false, u.s.srv.projections.of(u.log, view)
	if old != nil {
		old.release()
	}
}
