package syncsrv

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// subscription is one resource of a session. It belongs to whose turn the session is.
type subscription struct {
	s     *session
	id    uint32
	gr    schema.GroupResource
	scope scope.Scope
	phase phase
	dirty atomic.Bool // the log may have something new; set by anybody

	log     *watchlog.Log // nil until opened
	release func()
	view    scope.View
	stale   bool // view is not what it should be by now: see amend
	// projection is what view makes of log, shared with other subscriptions; nil without a view.
	projection *projection

	have    position // what the edge holds at the beginning of the phase
	reader  *watchlog.Reader
	catchup *catchup
	stock   *stock   // the inventory that is coming in
	partial *partial // what the inventory is to be compared with, when it is of parts; nil else

	// sentRev is the position at which the edge will be when it has applied what was sent.
	sentRev uint64
	// readRev is how far the live reader has come: sentRev, or further when there was nothing for the edge.
	readRev uint64
	// durable is the newest position that the edge has said to be so in this session.
	durable uint64
	// answers wait for readRev.
	answers []answer
	// failure is what the edge was told of the last failure, "" after a success.
	failure string
	// whole are the keys of objects that are not to be sent as patches the next time.
	whole map[string]struct{}
	// resumed is set until an edge that resumed has been sent all that it missed.
	resumed bool
	// rewound is set while the edge may hold what the cloud has lost: it was restored from a backup.
	rewound bool
	// saidLost is what the edge was told last of isLost.
	saidLost bool
	// advances is when the edge hears of readRev.
	advances advances
	// checked is the last digest that the edge was sent while live.
	checked checked
	// stepOpen is set while a live step is sent in part.
	stepOpen bool
	// attempts counts the catch-ups in a row that the edge did not agree with.
	attempts int
	// opens counts the calls of open: what belongs to an earlier one is out of date.
	opens int
	// retryAt is when to try again what failed, zero when nothing did; unknownSince since when the cloud does not know
	// the resource; checkAt when to compare digests next.
	retryAt, unknownSince, checkAt time.Time
}

// phase is where a subscription stands.
type phase uint8

const (
	opening     phase = iota // the log is being opened, or is not ready, or is behind the edge
	failed                   // try again at retryAt
	changing                 // sending what changed
	awaiting                 // waiting for the edge's inventory
	reconciling              // sending what differs from the inventory
	confirming               // waiting until the edge agrees or sends an inventory
	live                     // sending events
	disputed                 // the log has lost the cloud, and says otherwise than the edge: until it follows again
)

const (
	// maxAttempts is how many catch-ups in a row an edge may disagree with before its session is ended.
	maxAttempts = 4
	retryDelay  = 2 * time.Second
	// tooLargeDelay is how long a resource rests that has an object which can't be sent: what comes before that object is
	// sent again each time.
	tooLargeDelay = time.Minute
)

func (s *session) newSubscription(gr schema.GroupResource, sc scope.Scope, have position) *subscription {
	u := &subscription{s: s, gr: gr, scope: sc, have: have}
	u.renumber()
	return u
}

// renumber gives the subscription a new id, so that messages under way that belong to what was before are not mistaken.
func (u *subscription) renumber() {
	u.s.lastID++
	u.id = u.s.lastID
}

// Wake takes note that the log may have something new.
func (u *subscription) Wake() {
	if !u.dirty.Load() && !u.dirty.Swap(true) {
		u.s.Wake()
	}
}

// open starts the subscription from what the edge has.
func (u *subscription) open(ctx context.Context) {
	u.letGo()
	u.phase, u.retryAt, u.whole = opening, time.Time{}, nil
	u.opens++
	this, sources := u.opens, u.scope.Sources(u.gr)
	u.s.srv.wg.Go(func() {
		log, release, err := u.s.srv.cfg.Source.Open(ctx, u.gr)
		waiting := func(reason string) {
			u.s.post(func(ctx context.Context) error { return u.wait(ctx, this, reason) })
		}
		if err == nil && !log.IsReady() {
			waiting("the hub is still loading it")
			select {
			case <-log.Ready():
			case <-log.Done():
			case <-ctx.Done():
			}
		}
		var inputs []*input
		if err == nil {
			inputs, err = u.s.openInputs(ctx, sources, waiting)
		}
		done := func(ctx context.Context) error { return u.opened(ctx, this, opened{log, release, inputs, err}) }
		if !u.s.post(done) {
			opened{release: release, inputs: inputs}.close()
		}
	})
}

// wait tells the edge that the resource will come later.
func (u *subscription) wait(ctx context.Context, this int, reason string) error {
	if ctx.Err() != nil || this != u.opens {
		return ctx.Err()
	}
	return u.announce(tombolov1.Plan_PLAN_WAIT, reason)
}

// opened is what an open has come to.
type opened struct {
	log     *watchlog.Log
	release func()
	inputs  []*input
	err     error
}

// close lets go of what nobody needs any more.
func (o opened) close() {
	if o.release != nil {
		o.release()
	}
	closeInputs(o.inputs)
}

// opened goes on with what an open came to.
func (u *subscription) opened(ctx context.Context, this int, o opened) error {
	if ctx.Err() != nil || this != u.opens {
		o.close()
		return ctx.Err()
	}
	log, err := o.log, o.err
	u.log, u.release = log, o.release
	u.s.adopt(o.inputs)
	if err == nil {
		u.view, err = u.s.viewOf(u.scope, log.Resource())
	}
	if errors.Is(err, errNoInput) {
		u.open(ctx) // the scope has become another meanwhile
		return nil
	}
	if err != nil && u.refusable(err) {
		return u.refuse(err.Error())
	}
	if err == nil && !log.IsReady() {
		err = errors.New("it was closed while it was loading")
	}
	if err != nil {
		return u.fail(err)
	}
	u.unknownSince, u.failure = time.Time{}, ""
	u.stale, u.projection = false, u.s.srv.projections.of(log, u.view)
	return u.plan(ctx)
}

// fail puts the subscription off until later. The edge keeps what it has, unless the cloud has not known the resource for
// long.
func (u *subscription) fail(err error) error {
	u.letGo()
	u.rewound = u.rewound || errors.Is(err, source.ErrRewound)
	now := time.Now()
	u.phase, u.retryAt = failed, now.Add(retryDelay)
	if errors.Is(err, errUnsendable) {
		u.retryAt = now.Add(tooLargeDelay)
	}
	if !errors.Is(err, apidoc.ErrUnknownResource) {
		if u.failure == err.Error() {
			return nil // said already
		}
		u.failure = err.Error()
		u.s.log.Warn("resource not available", "resource", u.gr, "err", err)
		return u.announce(tombolov1.Plan_PLAN_WAIT, err.Error())
	}
	if u.unknownSince.IsZero() {
		u.unknownSince = now
		u.s.log.Warn("the cloud does not know the resource", "resource", u.gr)
		return u.announce(tombolov1.Plan_PLAN_WAIT, err.Error())
	}
	if now.Sub(u.unknownSince) < u.s.srv.cfg.ForgetAfter || u.have == (position{}) {
		return nil
	}
	u.have = position{}
	if u.onDemand() {
		return u.refuse("the cloud no longer serves it")
	}
	return u.s.unsubscribe(u.gr, "the cloud no longer serves it")
}

// plan decides how the edge is brought up to date.
func (u *subscription) plan(ctx context.Context) error {
	u.letGoReader()
	if err := u.s.sameEpoch(); err != nil {
		return err // the log may be of the other one
	}
	if u.have.epoch != u.s.epoch {
		u.have = position{} // of another cluster: the edge drops it when it sees the Welcome
	}
	have, seen := u.have, max(u.have.rev, u.have.staged)
	switch {
	case seen > u.log.Rev() && !u.rewound:
		return u.waitFor(ctx, seen) // older versions are sent to no edge but one that has seen another history
	case seen > 0 && u.isBlind() && (u.rewound || have.view == u.view.Hash() && u.differs(have)):
		return u.dispute()
	case seen > 0 && (u.rewound || have.view != u.view.Hash()):
		u.phase = awaiting
		return u.announce(tombolov1.Plan_PLAN_RECONCILE, "")
	case u.differs(have):
		u.phase = awaiting
		return u.announce(tombolov1.Plan_PLAN_RECONCILE, "")
	case have.rev > 0 && u.log.Behind(have.rev) <= maxResumed:
		reader, err := u.log.NewReader(have.rev, u, u.view.Terms()...)
		if err == nil {
			u.reader = reader
			u.goLive(have.rev)
			u.resumed = true
			return u.announce(tombolov1.Plan_PLAN_RESUME, "")
		}
		if !errors.Is(err, watchlog.ErrCompacted) {
			return u.fail(err)
		}
	}
	if err := u.announce(tombolov1.Plan_PLAN_CHANGES, ""); err != nil {
		return err
	}
	return u.beginChanges(seen)
}

// differs tells whether the edge holds something else at its position than it should, so that events from there on would
// lead to what never was.
func (u *subscription) differs(have position) bool {
	if u.match(have) != differs {
		return false
	}
	u.s.srv.metrics.mismatches.Inc()
	u.s.log.Warn("the edge holds something else than it should", "resource", u.gr, "at", have.rev, "objects", have.digest.Count)
	return true
}

// goLive begins to send events behind rev.
func (u *subscription) goLive(rev uint64) {
	u.phase, u.sentRev, u.readRev, u.attempts, u.stepOpen, u.resumed = live, rev, rev, 0, false, false
	u.rewound = false
	u.checkAt, u.checked = time.Now(), checked{} // compare once after every catch-up
	u.restartAdvances(u.checkAt)
	u.Wake()
	u.have = position{epoch: u.s.epoch, view: u.view.Hash(), rev: rev}
}

// isLost tells whether the edge is live and the log's source has lost sight of the cloud.
func (u *subscription) isLost() bool {
	if u.phase != live {
		return false // the edge does not take itself for live either
	}
	_, lost := u.log.Lost()
	return lost
}

// step does one bounded piece of work and tells whether there is more.
func (u *subscription) step(ctx context.Context) (bool, error) {
	switch u.phase {
	case changing, reconciling:
		return u.stepCatchup()
	case live:
		return u.stepLive(ctx)
	case disputed:
		return false, u.settle(ctx)
	default:
		return false, nil
	}
}

// tick is called once per progress interval.
func (u *subscription) tick(ctx context.Context, now time.Time, p *tombolov1.Progress) error {
	switch {
	case u.phase == failed && now.After(u.retryAt):
		u.open(ctx)
	case u.phase == live:
		return u.tickLive(ctx, now, p)
	}
	return nil
}

// acked takes note that the edge has everything up to rev.
func (u *subscription) acked(rev uint64) error {
	u.durable = max(u.durable, rev)
	if u.phase != confirming || rev < u.sentRev {
		return nil
	}
	u.reader = u.catchup.reader
	u.unlist()
	u.catchup = nil
	u.goLive(u.sentRev)
	u.checkAt = time.Now().Add(u.s.srv.cfg.CheckInterval) // they have just agreed
	u.s.review = u.s.review || u.stale
	return nil
}

// rescope takes over a changed scope and tells whether that changes what the edge may hold of the resource.
func (u *subscription) rescope(sc scope.Scope) bool {
	u.scope = sc
	if u.log == nil || u.phase == failed {
		return u.phase == failed
	}
	view, err := u.s.viewOf(sc, u.log.Resource())
	if err == nil && view.Hash() == u.view.Hash() {
		return false
	}
	u.leavePhase()
	u.renumber()
	return true
}

func (u *subscription) letGoReader() {
	if u.catchup != nil && u.catchup.reader != nil {
		u.catchup.reader.Close()
	}
	if u.catchup != nil {
		u.unlist()
	}
	if u.reader != nil {
		u.reader.Close()
	}
	if u.partial != nil {
		u.partial.reader.Close()
	}
	u.reader, u.catchup, u.stock, u.partial = nil, nil, nil, nil
}

func (u *subscription) letGo() {
	u.letGoReader()
	if u.projection != nil {
		u.projection.release()
	}
	if u.release != nil {
		u.release()
	}
	u.log, u.release, u.projection = nil, nil, nil
}

func (u *subscription) close() {
	u.opens++
	u.letGo()
}
