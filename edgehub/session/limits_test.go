package session

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/edgehub/store"
	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/wirelimit"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

func subscriptionOf(resource string, id uint32, plan tombolov1.Plan) *tombolov1.Subscription {
	return &tombolov1.Subscription{
		Resource: &tombolov1.Resource{Resource: resource}, Id: id, View: "v", Plan: plan,
		Info: &tombolov1.ResourceInfo{Version: "v1", Kind: "Thing", Namespaced: true},
	}
}

func subscribing(m *tombolov1.Subscription) *tombolov1.SyncResponse {
	return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Subscription{Subscription: m}}
}

func checkpointOf(id uint32, rev uint64, d delta.Digest) *tombolov1.SyncResponse {
	return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Checkpoint{
		Checkpoint: &tombolov1.Checkpoint{Subscription: id, Rev: rev, Count: d.Count, Digest: d.Bytes()},
	}}
}

// TestAbusesOfAHub: each ends the session, and leaves what is shown and stored as it was.
func TestAbusesOfAHub(t *testing.T) {
	const resume, changes = tombolov1.Plan_PLAN_RESUME, tombolov1.Plan_PLAN_CHANGES
	described := func(change func(*tombolov1.Subscription)) *tombolov1.SyncResponse {
		m := subscriptionOf("pods", 3, changes)
		change(m)
		return subscribing(m)
	}
	progress := func(rev uint64) *tombolov1.SyncResponse {
		return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Progress{Progress: &tombolov1.Progress{
			Advances: []*tombolov1.Advance{{Subscription: 1, Rev: rev}},
		}}}
	}
	late := thing("a", 12)
	late.Rev = math.MaxUint64
	for name, m := range map[string]*tombolov1.SyncResponse{
		"a resume of what the edge has no state of": subscribing(subscriptionOf("nodes", 3, resume)),
		"a resume of another view": described(func(m *tombolov1.Subscription) {
			m.Plan, m.View = resume, "another"
		}),
		"a number of another resource": subscribing(subscriptionOf("nodes", 1, changes)),
		"a resource without a name":    subscribing(subscriptionOf("", 3, changes)),
		"a resource with another's name": described(func(m *tombolov1.Subscription) {
			m.Resource.Resource = "pods.metrics"
		}),
		"a path for a resource":   subscribing(subscriptionOf("../pods", 3, changes)),
		"an endless name":         subscribing(subscriptionOf(strings.Repeat("n", 1000), 3, changes)),
		"a plan of the future":    subscribing(subscriptionOf("pods", 3, 99)),
		"columns that are not":    described(func(m *tombolov1.Subscription) { m.Info.Columns = []byte(`{"name":"x"`) }),
		"columns of another kind": described(func(m *tombolov1.Subscription) { m.Info.Columns = []byte(`{"name":"x"}`) }),
		"columns that are no text": described(func(m *tombolov1.Subscription) {
			m.Info.Columns = []byte("[\"\xff\"]")
		}),
		"a position past all revisions":   batchOf(&tombolov1.Batch{Subscription: 1, UptoRev: math.MaxUint64}),
		"a gap past all revisions":        batchOf(&tombolov1.Batch{Subscription: 1, UptoRev: 12, GapFrom: math.MaxUint64}),
		"an operation past all revisions": batchOf(&tombolov1.Batch{Subscription: 1, UptoRev: 12, Operations: []*tombolov1.Operation{late}}),
		"progress past all revisions":     progress(math.MaxUint64),
		"a checkpoint past all revisions": checkpointOf(1, math.MaxUint64, delta.Digest{}),
		"a question to an unknown number": {Message: &tombolov1.SyncResponse_RangeNeed{RangeNeed: &tombolov1.RangeNeed{Subscription: 9}}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			s := twoResources(t, store.Options{})
			s.welcomed, s.stream = true, &recordedStream{}
			if err := s.applyGroup(nil, m); err == nil {
				t.Error("it was taken")
			}
			if n := len(s.c.replicas); n != 2 {
				t.Errorf("%d resources are held", n)
			}
			for gr, r := range s.c.replicas {
				if r.log.Rev() != 10 || r.log.Snapshot().Len() != 0 {
					t.Errorf("%s is at %d with %d objects", gr, r.log.Rev(), r.log.Snapshot().Len())
				}
			}
			states, err := s.c.cfg.Store.Resources()
			if err != nil || len(states) != 2 || states[0].Rev != 10 || states[1].Rev != 10 {
				t.Errorf("stored: %v, %v", states, err)
			}
		})
	}
}

// TestAStepThatNeverEndsIsBounded: it is held in memory, so the hub must come to an end.
func TestAStepThatNeverEndsIsBounded(t *testing.T) {
	s := twoResources(t, store.Options{})
	s.welcomed, s.stream = true, &recordedStream{}
	removal := &tombolov1.Operation{
		Key: "ns/" + strings.Repeat("k", 1<<20), Type: tombolov1.OperationType_OPERATION_TYPE_DELETE, Rev: 12,
	}
	m := batchOf(&tombolov1.Batch{Subscription: 1, Operations: []*tombolov1.Operation{removal}, More: true})
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		err = s.applyGroup(nil, m)
	}
	if !errors.Is(err, errLimit) || n > maxStepBytes>>20+1 {
		t.Errorf("after %d MiB: %v", n, err)
	}
}

// TestAHubThatNeverAgreesIsLeft: each attempt costs a look at all that is held.
func TestAHubThatNeverAgreesIsLeft(t *testing.T) {
	s := twoResources(t, store.Options{})
	s.welcomed, s.stream = true, &recordedStream{}
	if err := s.applyGroup(nil, subscribing(subscriptionOf("pods", 3, tombolov1.Plan_PLAN_CHANGES))); err != nil {
		t.Fatal(err)
	}
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		err = s.applyGroup(nil, checkpointOf(3, 20, delta.Digest{Count: 5}))
	}
	if !errors.Is(err, errLimit) || n != maxInventories+1 {
		t.Errorf("after %d inventories: %v", n, err)
	}
}

// TestAHubsPaceIsBounded: who says that it is silent for weeks is noticed all the same when it is gone.
func TestAHubsPaceIsBounded(t *testing.T) {
	s := greeted(t)
	s.c = twoResources(t, store.Options{}).c
	s.line, s.timer, s.ids, s.numbers = &line{}, time.NewTimer(time.Hour), map[uint32]*replica{}, map[*replica]uint32{}
	if err := s.welcome(&tombolov1.Welcome{Version: Version, Epoch: "e", ProgressIntervalMs: math.MaxUint32}); err != nil {
		t.Fatal(err)
	}
	s.closeDesk()
	if s.progress != maxBeat {
		t.Errorf("silence is noticed after %v", silences*s.progress)
	}
}

// TestMessagesThatTakeMuchMemoryAreRefused: before they do, also in a frame.
func TestMessagesThatTakeMuchMemoryAreRefused(t *testing.T) {
	ops := make([]*tombolov1.Operation, wirelimit.Max+1)
	for i := range ops {
		ops[i] = &tombolov1.Operation{}
	}
	raw, err := proto.Marshal(batchOf(&tombolov1.Batch{Subscription: 1, Operations: ops}))
	if err != nil {
		t.Fatal(err)
	}
	err = newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(raw)}, &tombolov1.SyncResponse{})
	if !errors.Is(err, errLimit) {
		t.Errorf("%d KiB: %v", len(raw)>>10, err)
	}
	text, err := proto.Marshal(&tombolov1.Operations{Operations: ops})
	if err != nil {
		t.Fatal(err)
	}
	s := twoResources(t, store.Options{})
	s.agreed.frames = true
	_, err = s.unframe(&tombolov1.Batch{Frame: delta.AppendFrame(nil, text), FramedSize: uint32(len(text))}) //nolint:gosec // small
	if !errors.Is(err, wirelimit.ErrTooMany) {
		t.Errorf("in a frame: %v", err)
	}
}

// TestResourcesAreBounded: each takes a place in the file.
func TestResourcesAreBounded(t *testing.T) {
	s := twoResources(t, store.Options{})
	for i := range maxResources {
		gr := groupResource(&tombolov1.Resource{Resource: fmt.Sprint("r", i)})
		s.c.replicas[gr] = testReplica()
	}
	err := s.subscription(subscriptionOf("one-more", 3, tombolov1.Plan_PLAN_CHANGES))
	if !errors.Is(err, errLimit) {
		t.Error(err)
	}
}

// TestAResumeOfAFirstSyncIsRefused: of a resource whose first state is not in, what events tell is not all there is.
func TestAResumeOfAFirstSyncIsRefused(t *testing.T) {
	s := twoResources(t, store.Options{})
	s.welcomed, s.stream = true, &recordedStream{}
	if err := s.applyGroup(nil, subscribing(subscriptionOf("nodes", 3, tombolov1.Plan_PLAN_CHANGES))); err != nil {
		t.Fatal(err)
	}
	r := s.ids[3]
	err := s.applyGroup(nil, subscribing(subscriptionOf("nodes", 4, tombolov1.Plan_PLAN_RESUME)))
	if err == nil {
		err = s.applyGroup(nil, batchOf(&tombolov1.Batch{Subscription: 4, UptoRev: 12, Operations: []*tombolov1.Operation{thing("a", 12)}}))
	}
	if err == nil || r.log.IsReady() {
		t.Errorf("%v; %d objects are shown as all there are", err, r.log.Snapshot().Len())
	}
}
