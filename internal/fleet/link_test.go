package fleet

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unique"

	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// script is a stream on which a hub sends what it was given, and then ends it.
type script struct {
	t        testing.TB
	messages [][]byte
	sent     []*tombolov1.SyncRequest
}

func (s *script) Open(_ string, hello []byte) error { return s.Send(hello) }

func (s *script) Next() ([]byte, error) {
	if len(s.messages) == 0 {
		return nil, io.EOF
	}
	m := s.messages[0]
	s.messages = s.messages[1:]
	return m, nil
}

func (s *script) Send(raw []byte) error {
	m := &tombolov1.SyncRequest{}
	if err := proto.Unmarshal(raw, m); err != nil {
		s.t.Error(err)
	}
	s.sent = append(s.sent, m)
	return nil
}

// play runs a session in which the hub sends messages. It returns what the edge sent, and the error that it ended with.
func play(t testing.TB, e *edge, messages ...*tombolov1.SyncResponse) ([]*tombolov1.SyncRequest, error) {
	t.Helper()
	return playRaw(t, e, encoded(t, messages)...)
}

func playRaw(t testing.TB, e *edge, messages ...[]byte) ([]*tombolov1.SyncRequest, error) {
	t.Helper()
	s := &script{t: t, messages: messages}
	l := &link{e: e, stream: s, opened: func() {}}
	err := l.run(t.Context())
	l.close()
	return s.sent, err
}

func encoded(t testing.TB, messages []*tombolov1.SyncResponse) (raw [][]byte) {
	t.Helper()
	for _, m := range messages {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		raw = append(raw, b)
	}
	return raw
}

func oneEdge(t testing.TB) *edge {
	t.Helper()
	f, err := New(Config{Edges: 1, Hubs: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	return f.edges[0]
}

func welcome() *tombolov1.SyncResponse {
	return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Welcome{Welcome: &tombolov1.Welcome{
		Version: Version, Epoch: "e", Scope: []*tombolov1.Resource{{Resource: "pods"}},
		Capabilities: []tombolov1.Capability{tombolov1.Capability_CAPABILITY_LAZY_ACKS},
	}}}
}

func subscribe(plan tombolov1.Plan) *tombolov1.SyncResponse {
	return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Subscription{Subscription: &tombolov1.Subscription{
		Resource: &tombolov1.Resource{Resource: "pods"}, Id: 1, View: "v", Plan: plan, Info: podInfo,
	}}}
}

func put(name string, rev uint64) *tombolov1.Operation {
	raw := podJSON(name, "u-"+name, rev)
	return &tombolov1.Operation{
		Key: "ns/" + name, Type: tombolov1.OperationType_OPERATION_TYPE_PUT, Rev: rev,
		Encoding: tombolov1.Encoding_ENCODING_JSON, Crc32C: delta.Checksum(raw), Data: raw,
	}
}

func removeB(rev uint64) *tombolov1.Operation {
	return &tombolov1.Operation{Key: "ns/b", Type: tombolov1.OperationType_OPERATION_TYPE_DELETE, Rev: rev}
}

func batch(upto uint64, more bool, ops ...*tombolov1.Operation) *tombolov1.SyncResponse {
	return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Batch{Batch: &tombolov1.Batch{
		Subscription: 1, UptoRev: upto, More: more, Operations: ops,
	}}}
}

func advance(rev uint64) *tombolov1.SyncResponse {
	return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Progress{Progress: &tombolov1.Progress{
		Advances: []*tombolov1.Advance{{Subscription: 1, Rev: rev}},
	}}}
}

// check is a checkpoint over pods, given as name and revision.
func check(t testing.TB, rev uint64, pods map[string]uint64) *tombolov1.SyncResponse {
	t.Helper()
	var d delta.Digest
	for name, r := range pods {
		o, err := podKind(t).decoder.Decode(podJSON(name, "u-"+name, r))
		if err != nil {
			t.Fatal(err)
		}
		d.Add(o)
	}
	return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Checkpoint{Checkpoint: &tombolov1.Checkpoint{
		Subscription: 1, Rev: rev, Count: d.Count, Digest: d.Bytes(),
	}}}
}

// synced are the messages of a first sync of two pods.
func synced(t testing.TB) []*tombolov1.SyncResponse {
	return []*tombolov1.SyncResponse{
		welcome(), subscribe(tombolov1.Plan_PLAN_CHANGES), batch(6, true, put("a", 5), put("b", 6)),
		check(t, 9, map[string]uint64{"a": 5, "b": 6}),
	}
}

func TestSessionFollowsAndResumes(t *testing.T) {
	e := oneEdge(t)
	sent, err := play(t, e, append(synced(t), batch(12, false, put("a", 11), removeB(12)), advance(20),
		check(t, 20, map[string]uint64{"a": 11}))...)
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if want := []uint64{0, 9}; !slices.Equal(acks(sent), want) {
		t.Errorf("acks are %d, want %d", acks(sent), want)
	}
	sent, err = play(t, e, welcome(), subscribe(tombolov1.Plan_PLAN_RESUME), batch(22, false, put("c", 22)),
		check(t, 22, map[string]uint64{"a": 11, "c": 22}))
	if p := sent[0].GetHello().GetPositions(); !errors.Is(err, io.EOF) || len(p) != 1 || p[0].GetRev() != 20 ||
		p[0].GetView() != "v" || p[0].GetEpoch() != "" || sent[0].GetHello().GetEpoch() != "e" || p[0].GetCount() != 1 {
		t.Errorf("the edge came back with %v: %v", p, err)
	}
	if s := e.f.Stats(); s.Mismatches != 0 || s.Live != 0 || s.Sessions != 2 || s.Plans["PLAN_RESUME"] != 1 {
		t.Errorf("%+v", s)
	}
}

// acks returns the positions in acks.
func acks(sent []*tombolov1.SyncRequest) (revs []uint64) {
	for _, m := range sent {
		if m.GetAck() != nil {
			revs = append(revs, m.GetAck().GetRev())
		}
	}
	return revs
}

// resumed is a Welcome that resumes positions, and agrees with some.
func resumed(positions, agreed []uint32) *tombolov1.SyncResponse {
	m := welcome()
	m.GetWelcome().Epoch, m.GetWelcome().Resumed, m.GetWelcome().Agreed = "", positions, agreed
	return m
}

func TestResumedInTheWelcome(t *testing.T) {
	e := oneEdge(t)
	_, _ = play(t, e, synced(t)...)
	_, err := play(t, e, resumed([]uint32{0}, []uint32{0}), batch(12, false, put("a", 11)))
	if s := e.f.Stats(); !errors.Is(err, io.EOF) || e.replicas[0].rev != 12 || !e.replicas[0].live || s.Plans["PLAN_RESUME"] != 1 {
		t.Errorf("at %d: %v, %+v", e.replicas[0].rev, err, s)
	}
	if _, err = play(t, e, resumed([]uint32{0}, nil), advance(13)); !errors.Is(err, io.EOF) || e.replicas[0].live {
		t.Errorf("caught up without a word of it, or %v", err)
	}
	for name, m := range map[string]*tombolov1.SyncResponse{
		"no such position": resumed([]uint32{1}, nil), "one twice": resumed([]uint32{0, 0}, nil),
		"not resumed": resumed(nil, []uint32{0}), "agreed twice": resumed([]uint32{0}, []uint32{0, 0}),
	} {
		if _, err := play(t, e, m); !errors.Is(err, ErrNonsense) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := play(t, oneEdge(t), resumed([]uint32{0}, nil)); !errors.Is(err, ErrNonsense) {
		t.Errorf("what has no state: %v", err)
	}
}

func TestMismatchIsCountedAndHealed(t *testing.T) {
	e := oneEdge(t)
	sent, err := play(t, e, append(synced(t), check(t, 9, map[string]uint64{"a": 5}), subscribe(tombolov1.Plan_PLAN_RECONCILE),
		batch(0, true, removeB(0)), check(t, 9, map[string]uint64{"a": 5}))...)
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	s := e.f.Stats()
	if s.Mismatches != 1 || s.Inventories != 1 || e.replicas[0].digest.Count != 1 {
		t.Errorf("%d objects, %+v", e.replicas[0].digest.Count, s)
	}
	for _, m := range sent {
		if inv := m.GetInventory(); inv != nil && (len(inv.GetItems()) != 2 || inv.GetReason() == "") {
			t.Errorf("inventory %v", inv)
		}
	}
}

func TestDeletionsThatChangesCannotTellAreNoMismatch(t *testing.T) {
	e := oneEdge(t)
	_, _ = play(t, e, synced(t)...)
	_, err := play(t, e, welcome(), subscribe(tombolov1.Plan_PLAN_CHANGES), check(t, 15, map[string]uint64{"a": 5}),
		batch(0, true, removeB(0)), check(t, 15, map[string]uint64{"a": 5}))
	if s := e.f.Stats(); !errors.Is(err, io.EOF) || s.Mismatches != 0 || s.Inventories != 1 {
		t.Errorf("%v, %+v", err, s)
	}
}

func TestARestoredCloudIsFollowedBack(t *testing.T) {
	e := oneEdge(t)
	_, _ = play(t, e, synced(t)...)
	plan := subscribe(tombolov1.Plan_PLAN_RECONCILE)
	plan.GetSubscription().Rewound = true
	_, err := play(t, e, welcome(), plan, batch(0, true, removeB(0)), batch(3, true, put("a", 3)),
		check(t, 4, map[string]uint64{"a": 3}), batch(5, false, put("c", 5)), check(t, 5, map[string]uint64{"a": 3, "c": 5}))
	s := e.f.Stats()
	if !errors.Is(err, io.EOF) || s.Mismatches != 0 || s.Rewinds != 1 || e.replicas[0].rev != 5 {
		t.Errorf("at %d: %v, %+v", e.replicas[0].rev, err, s)
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	damaged := put("c", 20)
	damaged.Data[3]++
	renamed := put("c", 20)
	renamed.Key = "ns/d"
	patch := put("c", 20)
	patch.Encoding = 99
	broken := check(t, 9, nil)
	broken.GetCheckpoint().Digest = []byte("short")
	for want, m := range map[string]*tombolov1.SyncResponse{
		"second Welcome":              welcome(),
		"nobody asked for":            {},
		"checksum":                    batch(20, false, damaged),
		"the object is ns/c":          batch(20, false, renamed),
		"not agreed on":               batch(20, false, patch),
		"from 9 back to 8":            batch(8, false),
		"in a step to 20":             batch(20, false, put("c", 21)),
		"revision 19 behind 20":       batch(20, false, put("c", 20), put("a", 19)),
		"without a key":               batch(20, false, &tombolov1.Operation{Type: tombolov1.OperationType_OPERATION_TYPE_DELETE}),
		"of type":                     batch(20, false, &tombolov1.Operation{Key: "k"}),
		"progress from 9 back to 7":   advance(7),
		"has not announced":           {Message: &tombolov1.SyncResponse_Batch{Batch: &tombolov1.Batch{Subscription: 7}}},
		"without a resource or an id": {Message: &tombolov1.SyncResponse_Subscription{Subscription: &tombolov1.Subscription{}}},
		"a plan":                      subscribe(99),
		"malformed digest":            broken,
	} {
		e := oneEdge(t)
		if _, err := play(t, e, append(synced(t), m)...); !errors.Is(err, ErrNonsense) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := play(t, oneEdge(t), advance(1)); !errors.Is(err, ErrNonsense) {
		t.Errorf("something before the Welcome: %v", err)
	}
}

func TestAnotherClustersDataIsDropped(t *testing.T) {
	e := oneEdge(t)
	_, _ = play(t, e, synced(t)...)
	other := welcome()
	other.GetWelcome().Epoch = "f"
	_, _ = play(t, e, other)
	if len(e.replicas) != 0 {
		t.Errorf("%d resources are left", len(e.replicas))
	}
}

// FuzzLink feeds a session whatever: it must end in an error or go on, and what it holds must have the digest it says.
func FuzzLink(f *testing.F) {
	for _, m := range append(synced(f), batch(12, false, put("a", 11)), advance(20), subscribe(tombolov1.Plan_PLAN_RECONCILE)) {
		raw, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, raw)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		e := oneEdge(t)
		_, _ = playRaw(t, e, append(encoded(t, synced(t)), a, b)...)
		for _, r := range e.replicas {
			var held delta.Digest
			for _, v := range r.held {
				held.Join(v.digest)
			}
			if held != r.digest {
				t.Fatalf("%s: the digest is of %d objects, held are %d", r.kind.gr, r.digest.Count, held.Count)
			}
		}
	})
}

func TestEpochAndViewAreTold(t *testing.T) {
	r := newReplica(podKind(t))
	r.pending = target{unique.Make("e"), unique.Make("new")}
	r.view = unique.Make("old")
	if r.known() != "new" {
		t.Error("a first sync does not tell the view that it leads to")
	}
	if r.rev = 1; r.known() != "old" {
		t.Error("the view of what is held is not told")
	}
}

// patchA is the operation that makes version rev of pod a out of version base.
func patchA(t *testing.T, base, rev uint64) *tombolov1.Operation {
	t.Helper()
	d := podKind(t).decoder
	old, err := d.Decode(podJSON("a", "u-a", base))
	if err != nil {
		t.Fatal(err)
	}
	raw := podJSON("a", "u-a", rev)
	o, err := d.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := delta.AppendPatch(nil, old, o)
	if err != nil {
		t.Fatal(err)
	}
	return &tombolov1.Operation{
		Key: "ns/a", Type: tombolov1.OperationType_OPERATION_TYPE_PUT, Rev: rev, BaseRev: base,
		Encoding: tombolov1.Encoding_ENCODING_ZSTD_PATCH, Crc32C: delta.Checksum(raw), Data: patch, JsonSize: uint32(len(raw)),
	}
}

func TestPatchesApplyToWhatIsHeldByThen(t *testing.T) {
	e := oneEdge(t)
	_, err := play(t, e, append(synced(t),
		batch(11, true, patchA(t, 5, 11)),
		batch(13, false, patchA(t, 11, 12), patchA(t, 12, 13)),
		check(t, 13, map[string]uint64{"a": 13, "b": 6}))...)
	s := e.f.Stats()
	if !errors.Is(err, io.EOF) || s.Mismatches != 0 || s.Misses != 0 || s.Patches != 3 {
		t.Errorf("%v, %+v", err, s)
	}
}

// TestALivePatchTakesNoMemory: what thousands of edges are sent is decoded and applied by the first.
func TestALivePatchTakesNoMemory(t *testing.T) {
	e := oneEdge(t)
	l := &link{e: e, stream: &script{t: t}, opened: func() {}}
	for _, raw := range encoded(t, synced(t)) {
		if err := l.receive(raw); err != nil {
			t.Fatal(err)
		}
	}
	patch := encoded(t, []*tombolov1.SyncResponse{batch(11, false, patchA(t, 5, 11))})[0]
	r := e.replicas[0]
	before, was := r.held["ns/a"], r.digest
	step := func() {
		r.held["ns/a"], r.digest, r.rev, l.received = before, was, 9, l.reported // as another edge, that is where this one was
		if err := l.receive(patch); err != nil {
			t.Fatal(err)
		}
	}
	step()
	first := r.held["ns/a"]
	if n := testing.AllocsPerRun(100, step); n > 0 {
		t.Errorf("%.1f allocations", n)
	}
	if r.held["ns/a"] != first || first.rev != 11 {
		t.Errorf("version %d is held", r.held["ns/a"].rev)
	}
	runtime.KeepAlive(first)
}

func TestAPatchThatDoesNotApplyIsAskedForWhole(t *testing.T) {
	wrong := patchA(t, 5, 11)
	wrong.Crc32C++
	for name, op := range map[string]*tombolov1.Operation{"no such base": patchA(t, 7, 11), "another result": wrong} {
		resumed := subscribe(tombolov1.Plan_PLAN_RESUME)
		resumed.GetSubscription().FromRev = 9
		e := oneEdge(t)
		sent, err := play(t, e, append(synced(t),
			batch(11, false, op), batch(12, false, put("a", 12)), advance(20), check(t, 20, nil), // dropped
			resumed, batch(11, false, put("a", 11)), check(t, 11, map[string]uint64{"a": 11, "b": 6}))...)
		var needs []*tombolov1.Need
		for _, m := range sent {
			if m.GetNeed() != nil {
				needs = append(needs, m.GetNeed())
			}
		}
		s := e.f.Stats()
		if !errors.Is(err, io.EOF) || s.Mismatches != 0 || s.Misses != 1 || len(needs) != 1 ||
			needs[0].GetRev() != 9 || !slices.Equal(needs[0].GetKeys(), []string{"ns/a"}) {
			t.Errorf("%s: %v, needs %v, %+v", name, err, needs, s)
		}
	}
}

func TestAFrameIsOpened(t *testing.T) {
	text, err := proto.Marshal(&tombolov1.Operations{Operations: []*tombolov1.Operation{put("a", 5), put("b", 6)}})
	if err != nil {
		t.Fatal(err)
	}
	framed := batch(6, true)
	framed.GetBatch().Frame, framed.GetBatch().FramedSize = delta.AppendFrame(nil, text), uint32(len(text))
	messages := []*tombolov1.SyncResponse{
		welcome(), subscribe(tombolov1.Plan_PLAN_CHANGES), framed, check(t, 9, map[string]uint64{"a": 5, "b": 6}),
	}
	e := oneEdge(t)
	if _, err := play(t, e, messages...); !errors.Is(err, io.EOF) || e.f.Stats().Operations != 2 {
		t.Errorf("%v, %+v", err, e.f.Stats())
	}
	framed.GetBatch().FramedSize++
	if _, err := play(t, oneEdge(t), messages...); !errors.Is(err, ErrNonsense) {
		t.Errorf("a frame of another size: %v", err)
	}
}
