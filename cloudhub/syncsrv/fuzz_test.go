package syncsrv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// hostileEdge says what bytes make it say to a session, and looks at what is sent.
type hostileEdge struct {
	t      *testing.T
	raw    []byte
	c      *chronicle
	s      *session
	ctx    context.Context
	cancel context.CancelCauseFunc
	stream *fakeStream
	seen   int // of what was sent
	// upto is where each subscription that was announced has come, by id.
	upto map[uint32]uint64
}

func (e *hostileEdge) roll(n int) int {
	if len(e.raw) == 0 {
		return 0
	}
	b := e.raw[0]
	e.raw = e.raw[1:]
	return int(b) % n
}

// atOnce proves where a log is.
type atOnce struct{ log *watchlog.Log }

// Prove implements Prover.
func (p atOnce) Prove(_ context.Context, _ schema.GroupResource, _ source.Part, minRev uint64) (uint64, error) {
	if minRev > p.log.Rev() {
		return 0, errors.New("the cloud is not there")
	}
	return p.log.Rev(), nil
}

// newHostileEdge opens a session with a Hello that bytes make up.
func newHostileEdge(t *testing.T, raw []byte) *hostileEdge {
	t.Helper()
	c := newChronicle(t, 1, watchlog.Config{MaxEvents: 40})
	for range 20 {
		c.step()
	}
	f, err := scope.Parse([]byte(`{scopes: [{name: s, edges: ["*"], rules: [{resource: pods}, {group: "*", resource: "*", onDemand: true}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	srv := sharingServer()
	src := newPodSource(t)
	src.log = c.log
	srv.cfg.Source, srv.cfg.Scopes, srv.cfg.Prover, srv.stop = src, f, atOnce{c.log}, make(chan struct{})
	e := &hostileEdge{t: t, raw: raw, c: c, stream: &fakeStream{}, upto: map[uint32]uint64{}}
	h := &tombolov1.Hello{Version: Version, Epoch: "e", Capabilities: []tombolov1.Capability{
		tombolov1.Capability_CAPABILITY_ZSTD_PATCH, tombolov1.Capability_CAPABILITY_ZSTD_BATCH, tombolov1.Capability_CAPABILITY_RANGES,
	}[:e.roll(4)]}
	for range e.roll(3) {
		h.Positions = append(h.Positions, &tombolov1.Position{
			Resource: e.resource(), View: testView(t, "{resource: pods}").Hash(), Rev: e.rev(), StagedRev: e.rev() * uint64(e.roll(2)),
			Count: uint64(e.roll(3)), Digest: make([]byte, 16*e.roll(2)),
		})
	}
	e.ctx, e.cancel = context.WithCancelCause(t.Context())
	e.s = newSession(e.ctx, srv, e.stream, "edge-1", h, e.cancel)
	return e
}

func (e *hostileEdge) resource() *tombolov1.Resource {
	return &tombolov1.Resource{Resource: []string{"pods", "nodes", "", "pods/status"}[e.roll(4)]}
}

func (e *hostileEdge) rev() uint64 {
	now := e.c.log.Rev()
	return []uint64{0, 1, now - 3, now, now + 1, 1 << 63, 1<<64 - 1, now - 60}[e.roll(8)]
}

func (e *hostileEdge) id() uint32 {
	if len(e.s.subs) > 0 && e.roll(8) > 0 {
		return e.s.subs[e.roll(len(e.s.subs))].id
	}
	return uint32(e.roll(5))
}

func (e *hostileEdge) next() *tombolov1.SyncRequest {
	switch e.roll(9) {
	case 0, 1, 2:
		return e.ack()
	case 3:
		return &tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ranges{Ranges: &tombolov1.Ranges{
			Subscription: e.id(), Sums: make([]byte, 8*[]int{16, 32, 17, 0}[e.roll(4)]), Reason: "r"[:e.roll(2)],
		}}}
	case 4:
		inv := &tombolov1.Inventory{Subscription: e.id(), More: e.roll(3) == 0, Ranged: e.roll(2) == 0}
		for range e.roll(4) {
			inv.Items = append(inv.Items, &tombolov1.Item{Key: fmt.Sprint("ns/p", e.roll(16)), Rev: e.rev(), Uid: "u1"})
		}
		return &tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Inventory{Inventory: inv}}
	case 5:
		return &tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Need{Need: &tombolov1.Need{
			Subscription: e.id(), Rev: e.rev(), Keys: []string{fmt.Sprint("ns/p", e.roll(16))},
		}}}
	case 6:
		d := &tombolov1.Demand{}
		for range e.roll(3) {
			d.Resources = append(d.Resources, e.resource())
		}
		return &tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Demand{Demand: d}}
	case 7:
		return &tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Question{Question: &tombolov1.Question{
			Id: uint64(e.roll(4)), Subscription: e.id(), MinRev: e.rev(), LabelSelector: []string{"", "a=b", "!("}[e.roll(3)],
		}}}
	default:
		m := &tombolov1.SyncRequest{}
		n := min(len(e.raw), 48)
		raw := e.raw[:n]
		e.raw = e.raw[n:]
		if proto.Unmarshal(raw, m) != nil {
			return e.ack()
		}
		return m
	}
}

// ack is one that an edge would send, more often than not.
func (e *hostileEdge) ack() *tombolov1.SyncRequest {
	a := &tombolov1.Ack{Subscription: e.id(), Rev: e.rev(), ReceivedBytes: uint64(e.s.sent)} //nolint:gosec // not negative
	if u := e.s.sub(a.GetSubscription()); u != nil && e.roll(4) > 0 {
		a.Rev = u.sentRev
	}
	if e.roll(4) == 0 {
		a.ReceivedBytes, a.Also = e.rev(), []*tombolov1.Durable{{Subscription: e.id(), Rev: e.rev()}, nil}
	}
	return &tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ack{Ack: a}}
}

// turn has the session do what there is to do. It tells whether the session goes on.
func (e *hostileEdge) turn() bool {
	e.t.Helper()
	for range 3 {
		e.settle()
		_, err := e.s.run(e.ctx, bulk)
		e.look()
		if err != nil || e.ctx.Err() != nil {
			return false
		}
	}
	e.bounded()
	return true
}

// settle gives what is being opened a moment. It may take longer: then it is opened in a later turn, or waits for the log.
func (e *hostileEdge) settle() {
	pending := func(u *subscription) bool { return u.phase == opening && u.log == nil }
	for range 1000 {
		e.s.mu.Lock()
		mail := len(e.s.mail)
		e.s.mu.Unlock()
		if mail > 0 || !slices.ContainsFunc(e.s.subs, pending) {
			return
		}
		runtime.Gosched()
	}
}

// bounded checks that what the edge has said takes no memory without a bound.
func (e *hostileEdge) bounded() {
	e.t.Helper()
	if len(e.s.subs) > 4 || len(e.s.demand) > maxDemand || len(e.s.held) > 0 || e.s.questions.open > maxQuestions {
		e.t.Fatalf("%d subscriptions, %d demands, %d held, %d questions", len(e.s.subs), len(e.s.demand), len(e.s.held), e.s.questions.open)
	}
	for _, u := range e.s.subs {
		if u.stock != nil && len(u.stock.items) > u.stock.limit {
			e.t.Fatalf("%d items in stock", len(u.stock.items))
		}
		if len(u.answers) > maxQuestions {
			e.t.Fatalf("%d answers wait", len(u.answers))
		}
	}
}

// look checks what was sent.
func (e *hostileEdge) look() {
	e.t.Helper()
	for _, m := range e.stream.sent[e.seen:] {
		e.seen++
		if e.seen == 1 && m.GetWelcome() == nil {
			e.t.Fatalf("the first message is %v", m)
		}
		switch {
		case m.GetSubscription() != nil:
			if m.GetSubscription().GetPlan() != tombolov1.Plan_PLAN_WAIT {
				e.upto[m.GetSubscription().GetId()] = 0
			}
		case m.GetBatch() != nil:
			e.lookAtBatch(m.GetBatch())
		case m.GetCheckpoint() != nil:
			e.known(m.GetCheckpoint().GetSubscription(), m)
		}
	}
}

func (e *hostileEdge) known(id uint32, m any) {
	e.t.Helper()
	if _, ok := e.upto[id]; !ok {
		e.t.Fatalf("of a subscription that was not announced: %v", m)
	}
}

func (e *hostileEdge) lookAtBatch(b *tombolov1.Batch) {
	e.t.Helper()
	e.known(b.GetSubscription(), b)
	if len(b.GetFrame()) > 0 && !e.s.can.frames {
		e.t.Fatalf("a frame that was not agreed on: %v", b)
	}
	if !b.GetMore() && b.GetUptoRev() < e.upto[b.GetSubscription()] {
		e.t.Fatalf("back from %d: %v", e.upto[b.GetSubscription()], b)
	}
	if !b.GetMore() {
		e.upto[b.GetSubscription()] = b.GetUptoRev()
	}
	for _, o := range unframe(e.t, b).GetOperations() {
		switch {
		case o.GetEncoding() == tombolov1.Encoding_ENCODING_ZSTD_PATCH:
			if !e.s.can.patches || b.GetGapFrom() != 0 {
				e.t.Fatalf("a patch out of place: %v", b)
			}
		case o.GetType() == tombolov1.OperationType_OPERATION_TYPE_PUT && delta.Checksum(o.GetData(), o.GetCells()) != o.GetCrc32C():
			e.t.Fatalf("damaged: %v", o)
		}
		if o.GetKey() == "" {
			e.t.Fatalf("without a key: %v", b)
		}
	}
}

// playEdge has an edge say all that raw makes it say, while the cloud changes.
func playEdge(t *testing.T, raw []byte) (messages int) {
	for len(raw) > 0 {
		e := newHostileEdge(t, raw)
		messages += e.play()
		raw = e.raw
	}
	return messages
}

// play is one session.
func (e *hostileEdge) play() (messages int) {
	t := e.t
	for on := e.turn(); on && len(e.raw) > 0; on = e.turn() {
		if e.roll(3) == 0 {
			e.c.step()
		}
		if e.roll(6) == 0 {
			e.s.tickAt = time.Time{}
		}
		messages++
		if err := e.s.handle(e.next()); err != nil {
			break
		}
		if len(e.s.mail) > maxMail || e.s.unread.Load() > maxMailBytes+maxReceived*itemWeight {
			t.Fatalf("%d letters, %d bytes wait", len(e.s.mail), e.s.unread.Load())
		}
	}
	e.cancel(nil)
	e.s.srv.wg.Wait()
	e.s.close()
	if n := e.s.unread.Load(); n != 0 {
		t.Fatalf("%d bytes are said to wait", n)
	}
	e.c.log.Close(nil)
	return messages
}

// FuzzSession: whatever an edge says, in whatever order, the session goes on or ends, with memory bounded, and what is sent
// keeps to the protocol.
func FuzzSession(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(randomBytes(seed, 200))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) <= 4096 {
			playEdge(t, raw)
		}
	})
}

// TestRandomEdges is FuzzSession for a few edges that say much.
func TestRandomEdges(t *testing.T) {
	messages := 0
	for seed := range uint64(60) {
		messages += playEdge(t, randomBytes(1000+seed, 2000))
	}
	t.Logf("%d messages", messages)
}

func randomBytes(seed uint64, n int) []byte {
	rng := rand.New(rand.NewPCG(seed, 5))
	raw := make([]byte, n)
	for i := range raw {
		raw[i] = byte(rng.Uint32())
	}
	return raw
}
