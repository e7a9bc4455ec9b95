package session

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/edgehub/store"
	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// hostile is a hub that says what bytes make it say, to an edge with a real store.
type hostile struct {
	t     *testing.T
	raw   []byte // what it says next comes from
	s     *session
	ended bool
	steps int // messages taken
	said  int // of these, the ones that ended a session
	// meant are the versions of objects that were sent, by resource, key and bytes.
	meant map[string]bool
}

// roll returns a number below n.
func (h *hostile) roll(n int) int {
	if len(h.raw) == 0 {
		return 0
	}
	b := h.raw[0]
	h.raw = h.raw[1:]
	return int(b) % n
}

// rarely is true once in 16 times.
func (h *hostile) rarely() bool { return h.roll(16) == 15 }

// connect opens a session, which takes over from the one before.
func (h *hostile) connect() {
	h.t.Helper()
	if h.s.questions.desk != nil {
		h.s.closeDesk()
	}
	s := &session{
		c: h.s.c, line: &line{}, stream: &recordedStream{}, timer: time.NewTimer(time.Hour), acks: newAcks(),
		ids: map[uint32]*replica{}, numbers: map[*replica]uint32{},
	}
	if err := s.hello(); err != nil {
		h.t.Fatal(err)
	}
	w := &tombolov1.Welcome{Version: Version, Epoch: "e", Capabilities: s.offered.list(), ProgressIntervalMs: 1000}
	for i := range s.greeting.positions {
		if h.roll(2) == 1 {
			w.Resumed = append(w.Resumed, uint32(i)) //nolint:gosec // few
		}
	}
	err := s.control(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Welcome{Welcome: w}})
	if err != nil && s.welcomed {
		h.t.Fatal(err)
	}
	h.s, h.ended = s, err != nil
	for i, name := range []string{"pods", "secrets", "nodes"} {
		if !h.ended && h.roll(8) > 0 && !slices.Contains(w.GetResumed(), uint32(i)) { //nolint:gosec // few
			m := subscriptionOf(name, uint32(i+1), tombolov1.Plan(2+h.roll(2))) //nolint:gosec // few
			h.ended = h.s.applyGroup(nil, subscribing(m)) != nil
		}
	}
}

// replica returns one that is held, nil when there is none of that number.
func (h *hostile) replica(id uint32) *replica { return h.s.ids[id] }

// rev returns a revision about where r is, or anything.
func (h *hostile) rev(r *replica) uint64 {
	at := uint64(10)
	if r != nil {
		at = r.log.Rev()
	}
	if h.rarely() {
		return []uint64{0, 1, at, 1 << 63, 1<<64 - 1, maxRev}[h.roll(6)]
	}
	return at + uint64(h.roll(8)) - min(at, 2) //nolint:gosec // small
}

func (h *hostile) id() uint32 {
	if h.rarely() {
		return 0
	}
	return 1 + uint32(h.roll(3)) //nolint:gosec // small
}

// version returns an object's bytes.
func (h *hostile) version(name string, rev uint64) []byte {
	return fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"ns","uid":"u%d","resourceVersion":"%d"},"x":%d}`,
		name, h.roll(2), rev, h.roll(3))
}

// operation is a change of one object, right or wrong, at the revision next or thereabouts.
func (h *hostile) operation(r *replica, next uint64) *tombolov1.Operation {
	name := string("abc"[h.roll(3)])
	rev := next + uint64(h.roll(2)) //nolint:gosec // small
	if h.rarely() {
		rev = h.rev(r)
	}
	o := &tombolov1.Operation{Key: "ns/" + name, Rev: rev, Type: tombolov1.OperationType_OPERATION_TYPE_DELETE}
	switch h.roll(4) {
	case 0:
		return o
	case 1:
		if r == nil || rev == 0 || r.log.Snapshot().Get(o.GetKey()) == nil {
			return o
		}
		h.patch(o, r, h.version(name, rev))
	default:
		h.whole(o, r, h.version(name, rev))
	}
	if h.rarely() {
		h.damage(o)
	}
	return o
}

func (h *hostile) whole(o *tombolov1.Operation, r *replica, data []byte) {
	o.Type, o.Encoding = tombolov1.OperationType_OPERATION_TYPE_PUT, tombolov1.Encoding_ENCODING_JSON
	o.Data, o.Crc32C = data, delta.Checksum(data)
	h.mean(o, r, data)
}

func (h *hostile) patch(o *tombolov1.Operation, r *replica, data []byte) {
	base := r.log.Snapshot().Get(o.GetKey())
	to, err := r.log.Decoder().Decode(data)
	if err != nil {
		h.t.Fatal(err)
	}
	o.Type, o.Encoding = tombolov1.OperationType_OPERATION_TYPE_PUT, tombolov1.Encoding_ENCODING_ZSTD_PATCH
	if o.Data, err = delta.AppendPatch(nil, base, to); err != nil {
		h.t.Fatal(err)
	}
	o.BaseRev, o.Crc32C, o.JsonSize = base.Rev(), to.Checksum(), uint32(len(data)) //nolint:gosec // small
	h.mean(o, r, data)
}

func (h *hostile) mean(o *tombolov1.Operation, r *replica, data []byte) {
	if r != nil {
		h.meant[r.gr.String()+o.GetKey()+string(data)] = true
	}
}

// damage changes an operation, so that it is not what was meant.
func (h *hostile) damage(o *tombolov1.Operation) {
	switch h.roll(6) {
	case 0:
		if len(o.GetData()) > 0 {
			o.Data[h.roll(len(o.GetData()))] ^= 1
		}
	case 1:
		o.Crc32C++
	case 2:
		o.BaseRev++
	case 3:
		o.JsonSize = 1 << 30
	case 4:
		o.Key = "ns/z"
	default:
		o.Cells = []byte("[")
	}
}

func (h *hostile) batch() *tombolov1.SyncResponse {
	b := &tombolov1.Batch{Subscription: h.id()}
	r := h.replica(b.GetSubscription())
	next := uint64(9)
	if r != nil {
		next = r.log.Rev()
	}
	for range h.roll(4) {
		o := h.operation(r, next+1)
		next = o.GetRev()
		b.Operations = append(b.Operations, o)
	}
	if b.UptoRev = next + uint64(h.roll(2)); h.rarely() { //nolint:gosec // small
		b.UptoRev = h.rev(r)
	}
	b.More, b.Prompt = h.roll(3) == 0, h.roll(2) == 0
	if h.roll(4) == 0 {
		b.GapFrom = h.rev(r)
	}
	if h.roll(3) == 0 && len(b.GetOperations()) > 0 {
		text, err := proto.Marshal(&tombolov1.Operations{Operations: b.GetOperations()})
		if err != nil {
			h.t.Fatal(err)
		}
		b.Frame, b.FramedSize, b.Operations = delta.AppendFrame(nil, text), uint32(len(text)), nil //nolint:gosec // small
		if h.rarely() {
			b.FramedSize++
		}
	}
	return batchOf(b)
}

func (h *hostile) subscription() *tombolov1.SyncResponse {
	m := subscriptionOf([]string{"pods", "secrets", "nodes"}[h.roll(3)], h.id(), tombolov1.Plan(1+h.roll(4))) //nolint:gosec // small
	m.Rewound, m.FromRev = h.roll(3) == 0, h.rev(h.replica(m.GetId()))
	if h.rarely() {
		m.View = "w"
	}
	if h.rarely() {
		m.Info.Columns = []byte(`[{"name":"Name"}]`)
	}
	return subscribing(m)
}

// checkpoint is one that agrees, more often than not.
func (h *hostile) checkpoint() *tombolov1.SyncResponse {
	id := h.id()
	r := h.replica(id)
	rev := h.rev(r)
	var d delta.Digest
	switch {
	case r == nil || h.roll(4) == 0:
		d.Count = uint64(h.roll(3)) //nolint:gosec // small
	case r.step.open:
		r.holds(d.Add)
	default:
		d = r.digest
	}
	return checkpointOf(id, rev, d)
}

// next is what the hub says next.
func (h *hostile) next() *tombolov1.SyncResponse {
	switch h.roll(12) {
	case 0, 1:
		return h.subscription()
	case 2, 3, 4:
		return h.checkpoint()
	case 5:
		id := h.id()
		return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Progress{Progress: &tombolov1.Progress{
			Advances: []*tombolov1.Advance{{Subscription: id, Rev: h.rev(h.replica(id))}}, Lost: []*tombolov1.Loss{{Subscription: h.id()}},
		}}}
	case 6:
		return h.rare()
	default:
		return h.batch()
	}
}

// rare is a message of another kind, or any bytes.
func (h *hostile) rare() *tombolov1.SyncResponse {
	switch h.roll(6) {
	case 0:
		return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_RangeNeed{RangeNeed: &tombolov1.RangeNeed{Subscription: h.id(), Parts: []byte{255}}}}
	case 1:
		return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Answer{Answer: &tombolov1.Answer{Id: uint64(h.id()), Rev: h.rev(nil)}}}
	case 2:
		return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Unsubscription{Unsubscription: &tombolov1.Unsubscription{
			Resource: &tombolov1.Resource{Resource: "nodes"},
		}}}
	default:
		m := &tombolov1.SyncResponse{}
		n := min(len(h.raw), 64)
		raw := h.raw[:n]
		h.raw = h.raw[n:]
		if proto.Unmarshal(raw, m) != nil || m.GetWelcome() != nil || m.GetDrain() != nil { // a drain looks for another hub
			return &tombolov1.SyncResponse{}
		}
		return m
	}
}

// shown is what readers see of a resource.
type shown struct {
	ready   bool
	rev     uint64
	objects map[string]string
}

func (h *hostile) shown() map[*replica]shown {
	all := map[*replica]shown{}
	for _, r := range h.s.c.replicas {
		all[r] = show(r)
	}
	return all
}

func show(r *replica) shown {
	v := shown{ready: r.log.IsReady(), rev: r.log.Rev(), objects: map[string]string{}}
	for o := range r.log.Snapshot().All("") {
		v.objects[o.Key()] = string(o.JSON())
	}
	return v
}

// step says something, and looks what it has done.
func (h *hostile) step() {
	h.t.Helper()
	m := h.next()
	before, open := h.shown(), map[*replica]bool{}
	for r := range before {
		open[r] = r.step.open
	}
	err := h.s.applyGroup(nil, m)
	for _, r := range h.s.c.replicas {
		h.check(r, m)
		was, known := before[r]
		now := show(r)
		if !known {
			continue // made anew, from what is stored: that agrees, says check
		}
		if now.rev < was.rev {
			h.t.Fatalf("%s: from %d back to %d by %v", r.gr, was.rev, now.rev, m)
		}
		if changed := now.rev != was.rev || fmt.Sprint(now.objects) != fmt.Sprint(was.objects) || now.ready != was.ready; !changed {
			continue
		}
		c := m.GetCheckpoint()
		switch {
		case c == nil && (open[r] || !was.ready):
			h.t.Fatalf("%s: a step that is open has shown something by %v", r.gr, m)
		case c != nil && (c.GetCount() != r.digest.Count || string(c.GetDigest()) != string(r.digest.Bytes())):
			h.t.Fatalf("%s: a checkpoint that does not agree has shown something: %v", r.gr, m)
		}
	}
	if h.ended = err != nil; h.ended {
		h.said++
	}
	h.steps++
}

// check holds what is shown of a resource against what was sent, and against its digest.
func (h *hostile) check(r *replica, m *tombolov1.SyncResponse) {
	h.t.Helper()
	var d delta.Digest
	for o := range r.log.Snapshot().All("") {
		d.Add(o)
		if !h.meant[r.gr.String()+o.Key()+string(o.JSON())] {
			h.t.Fatalf("%s shows %s, which nobody sent: %s, by %v", r.gr, o.Key(), o.JSON(), m)
		}
	}
	if d != r.digest {
		h.t.Fatalf("%s: the digest is of %d objects, shown are %d, by %v", r.gr, r.digest.Count, d.Count, m)
	}
}

// compare holds the store against what is shown.
func (h *hostile) compare() {
	h.t.Helper()
	states, err := h.s.c.cfg.Store.Resources()
	if err != nil {
		h.t.Fatal(err)
	}
	if len(states) != len(h.s.c.replicas) {
		h.t.Fatalf("%d resources are stored, %d are held", len(states), len(h.s.c.replicas))
	}
	for _, st := range states {
		r := h.s.c.replicas[st.Resource.GroupResource()]
		stored, err := h.s.c.restore(st)
		if err != nil {
			h.t.Fatal(err)
		}
		if a, b := show(r), show(stored); fmt.Sprint(a) != fmt.Sprint(b) {
			h.t.Fatalf("%s: shown is %v, stored %v", r.gr, a, b)
		}
		stored.log.Close(nil)
	}
}

// play has a hub say all that raw makes it say.
func play(t *testing.T, raw []byte) {
	dir := t.TempDir()
	st, err := store.Open(dir, store.Options{Window: watchlog.Config{MaxEvents: 8}})
	if err != nil {
		t.Fatal(err)
	}
	h := &hostile{t: t, raw: raw, s: sessionOver(t, st), meant: map[string]bool{}}
	h.ended = true
	for len(h.raw) > 0 {
		if h.ended {
			h.connect()
			continue
		}
		h.step()
	}
	if !h.ended {
		h.compare()
	}
	if testing.Verbose() {
		t.Logf("%d messages, %d ended a session", h.steps, h.said)
	}
	h.s.closeDesk()
	for _, r := range h.s.c.replicas {
		r.log.Close(nil)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Check(dir); err != nil {
		t.Fatal(err)
	}
}

// FuzzSession: whatever a hub says, the edge goes on or leaves it; what it shows was sent, by exact steps or by a checkpoint
// that agrees, and is what it stores.
func FuzzSession(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(random(seed, 200))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 4096 {
			return
		}
		play(t, raw)
	})
}

func random(seed uint64, n int) []byte {
	rng := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // to be the same each time
	raw := make([]byte, n)
	for i := range raw {
		raw[i] = byte(rng.Uint32()) //nolint:gosec // any byte
	}
	return raw
}

// TestRandomHubs is FuzzSession for a few hubs that say much.
func TestRandomHubs(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { play(t, random(1000+seed, 3000)) })
	}
}
