package inproc

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/edgehub"
	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// patchOp takes the pod a from one revision to another.
func patchOp(t *testing.T, base, rev uint64) *tombolov1.Operation {
	t.Helper()
	return patchBetween(t, podJSON("a", "u1", base), podJSON("a", "u1", rev), base, rev)
}

func patchBetween(t *testing.T, was, is []byte, base, rev uint64) *tombolov1.Operation {
	t.Helper()
	c := newFakeCloud(t)
	from, to := c.decode(was), c.decode(is)
	data, err := delta.AppendPatch(nil, from, to)
	if err != nil {
		t.Fatal(err)
	}
	return &tombolov1.Operation{
		Key: "ns/a", Type: tombolov1.OperationType_OPERATION_TYPE_PUT, Rev: rev,
		Encoding: tombolov1.Encoding_ENCODING_ZSTD_PATCH, BaseRev: base, Crc32C: to.Checksum(), Data: data,
		JsonSize: uint32(len(to.JSON())), //nolint:gosec // small
	}
}

// exact is an exact step.
func exact(upto uint64, ops ...*tombolov1.Operation) *tombolov1.SyncResponse {
	return batch(&tombolov1.Batch{Operations: ops, UptoRev: upto})
}

// framed is an exact step up to 110 in a frame, after damage was done to it.
func framed(t *testing.T, damage func(*tombolov1.Batch), ops ...*tombolov1.Operation) *tombolov1.SyncResponse {
	t.Helper()
	text, err := proto.Marshal(&tombolov1.Operations{Operations: ops})
	if err != nil {
		t.Fatal(err)
	}
	b := &tombolov1.Batch{UptoRev: 110, Frame: delta.AppendFrame(nil, text), FramedSize: uint32(len(text))} //nolint:gosec // small
	damage(b)
	return batch(b)
}

// heal answers a Need as a hub does whose log has a@110 and b@111.
func heal(send func(*tombolov1.SyncResponse), n *tombolov1.Need) {
	m := subscription(tombolov1.Plan_PLAN_RESUME)
	m.GetSubscription().FromRev = n.GetRev()
	send(m)
	send(exact(111, putOp("a", "u1", 110), putOp("b", "u2", 111)))
	send(checkpoint(111, podJSON("a", "u1", 110), podJSON("b", "u2", 111)))
}

// TestPatchesThatDoNotApply: what is wrong with a patch is found out, none of the step that it is in becomes visible, the
// object is asked for whole from the edge's position on, and what was under way meanwhile is dropped.
func TestPatchesThatDoNotApply(t *testing.T) {
	corrupt := patchOp(t, 90, 110)
	corrupt.Data = bytes.Clone(corrupt.Data)
	corrupt.Data[len(corrupt.Data)-1] ^= 1
	wrongBase := patchBetween(t, podJSON("a", "uX", 90), podJSON("a", "uX", 110), 90, 110)
	wrongSum := patchOp(t, 90, 110)
	wrongSum.Crc32C++
	oversize := patchOp(t, 90, 110)
	oversize.JsonSize = delta.MaxPatched + 1
	small := patchOp(t, 90, 110)
	small.JsonSize = 10
	cut := patchOp(t, 90, 110)
	cut.Data = cut.Data[:len(cut.Data)/2]
	unknown := patchOp(t, 90, 110)
	unknown.Key = "ns/z"
	for name, p := range map[string]*tombolov1.Operation{
		"a corrupt patch": corrupt, "another base": wrongBase, "a base that is not held": patchOp(t, 95, 110),
		"another checksum": wrongSum, "an oversize patch": oversize, "a patch that makes more than it says": small,
		"a patch cut short": cut, "an object that is not held": unknown,
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			reg := prometheus.NewRegistry()
			needs := make(chan *tombolov1.Need, 8)
			answer := func(send func(*tombolov1.SyncResponse), n *tombolov1.Need) {
				needs <- n
				heal(send, n)
			}
			e, h := withAnswers(t, edgehub.Config{Metrics: reg}, answer,
				exact(105, putOp("c", "u3", 105)),
				exact(109, &tombolov1.Operation{Key: "ns/c", Type: tombolov1.OperationType_OPERATION_TYPE_DELETE, Rev: 107}, p),
				exact(120, putOp("d", "u4", 120)), // dropped, as is the progress behind it
				&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Progress{Progress: &tombolov1.Progress{
					Advances: []*tombolov1.Advance{{Subscription: 1, Rev: 130}},
				}}},
			)
			n := <-needs
			if got := n.GetKeys(); len(got) != 1 || got[0] != p.GetKey() || n.GetRev() != 105 {
				t.Errorf("the edge asks for %v from %d", got, n.GetRev())
			}
			e.eventually("healed", func() bool { return e.pods().Rev() == 111 })
			if got := state(e); got != "111: a@110 b@111 c@105" {
				t.Errorf("the edge shows %s", got)
			}
			if got := counter(t, reg, misses); got != 1 {
				t.Errorf("%v misses", got)
			}
			if got := h.sessions.Load(); got != 1 {
				t.Errorf("%d sessions", got)
			}
		})
	}
}

// TestPatchesOutOfOrder: a replayed patch changes nothing, and is no miss; one that comes before its base is.
func TestPatchesOutOfOrder(t *testing.T) {
	reg := prometheus.NewRegistry()
	e, h := withAnswers(t, edgehub.Config{Metrics: reg}, heal,
		exact(105, patchOp(t, 90, 105)),
		exact(105, patchOp(t, 90, 105)),
		exact(106, patchOp(t, 105, 106)),
		exact(106, patchOp(t, 90, 105), patchOp(t, 105, 106)),
		exact(110, patchOp(t, 108, 110)),
		exact(108, patchOp(t, 106, 108)),
	)
	e.eventually("healed", func() bool { return e.pods().Rev() == 111 })
	if got := state(e); got != "111: a@110 b@111" {
		t.Errorf("the edge shows %s", got)
	}
	if got, ok := counter(t, reg, misses), counter(t, reg, patches); got != 1 || ok != 2 {
		t.Errorf("%v misses, %v patches", got, ok)
	}
	if n := h.sessions.Load(); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// TestPatchesBuildOnOneAnother: also inside a step, and on what came with the same group.
func TestPatchesBuildOnOneAnother(t *testing.T) {
	e, _ := withAnswers(t, edgehub.Config{}, heal,
		batch(&tombolov1.Batch{Operations: []*tombolov1.Operation{patchOp(t, 90, 105)}, More: true}),
		exact(107, patchOp(t, 105, 106), patchOp(t, 106, 107)),
		exact(109, putOp("a", "u1", 108), patchOp(t, 108, 109)),
		framed(t, func(*tombolov1.Batch) {}, patchOp(t, 109, 110)),
	)
	e.waitFor(110)
	if got := state(e); got != "110: a@110" {
		t.Errorf("the edge shows %s", got)
	}
}

// TestMessagesThatBreakTheRulesOfPatches end the session, with nothing of them visible.
func TestMessagesThatBreakTheRulesOfPatches(t *testing.T) {
	gapped := batch(&tombolov1.Batch{Operations: []*tombolov1.Operation{patchOp(t, 90, 110)}, UptoRev: 110, GapFrom: 100})
	staged := batch(&tombolov1.Batch{Operations: []*tombolov1.Operation{patchOp(t, 90, 110)}, UptoRev: 110, GapFrom: 100, More: true})
	removal := patchOp(t, 90, 110)
	removal.Type = tombolov1.OperationType_OPERATION_TYPE_DELETE
	for name, m := range map[string]*tombolov1.SyncResponse{
		"a patch in a gap":           gapped,
		"a patch in a staged step":   staged,
		"a patch that is a deletion": exact(110, removal),
		"a truncated frame":          framed(t, func(b *tombolov1.Batch) { b.Frame = b.Frame[:len(b.Frame)-2] }, putOp("b", "u2", 110)),
		"a damaged frame":            framed(t, func(b *tombolov1.Batch) { b.Frame[len(b.Frame)-1] ^= 1 }, putOp("b", "u2", 110)),
		"a frame that is too large":  framed(t, func(b *tombolov1.Batch) { b.FramedSize = delta.MaxFramed + 1 }, putOp("b", "u2", 110)),
		"a frame that is a bomb": framed(t, func(b *tombolov1.Batch) { b.Frame = delta.AppendFrame(nil, make([]byte, 8<<20)) },
			putOp("b", "u2", 110)),
		"a frame with no message in it": framed(t, func(b *tombolov1.Batch) {
			b.Frame, b.FramedSize = delta.AppendFrame(nil, []byte("hello")), 5
		}),
		"a frame and operations": framed(t, func(b *tombolov1.Batch) { b.Operations = []*tombolov1.Operation{putOp("b", "u2", 110)} }),
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			e, h := withAnswers(t, edgehub.Config{}, heal, m)
			e.eventually("synced", func() bool { return e.pods().Rev() == 100 })
			<-h.ended
			if got := state(e); got != "100: a@90" {
				t.Errorf("the edge shows %s", got)
			}
			e.eventually("back", func() bool { return h.sessions.Load() > 1 })
		})
	}
}

// TestHubWhosePatchesNeverApply: an object that misses again after it came whole costs the hub the edge's trust; objects
// come whole then, in a new session.
func TestHubWhosePatchesNeverApply(t *testing.T) {
	reg := prometheus.NewRegistry()
	var rev atomic.Uint64
	rev.Store(110)
	bad := func() *tombolov1.Operation {
		p := patchOp(t, rev.Load(), rev.Load()+1)
		p.Crc32C++
		p.Rev = rev.Load() + 1
		return p
	}
	e, h := withAnswers(t, edgehub.Config{Metrics: reg}, func(send func(*tombolov1.SyncResponse), n *tombolov1.Need) {
		m := subscription(tombolov1.Plan_PLAN_RESUME)
		m.GetSubscription().FromRev = n.GetRev()
		send(m)
		now := rev.Add(1)
		send(exact(now, putOp("a", "u1", now)))
		send(exact(now+1, bad()))
	}, exact(110, patchOp(t, 90, 110)), exact(111, bad()))
	e.eventually("a session without patches", func() bool { return h.plain.Load() == 1 })
	if got := counter(t, reg, "tombolo_edge_patches_refused"); got != 1 {
		t.Errorf("refused: %v", got)
	}
	if got := counter(t, reg, misses); got < 8 || got > 12 {
		t.Errorf("%v misses", got)
	}
}

// TestAnnouncementThatCrossedANeed: a Subscription that goes on from where the edge has not come to is asked for again.
func TestAnnouncementThatCrossedANeed(t *testing.T) {
	needs := make(chan *tombolov1.Need, 8)
	crossing := subscription(tombolov1.Plan_PLAN_RESUME)
	crossing.GetSubscription().Id, crossing.GetSubscription().FromRev = 2, 112
	stray := exact(113, putOp("d", "u4", 113))
	stray.GetBatch().Subscription = 2
	e, _ := withAnswers(t, edgehub.Config{}, func(send func(*tombolov1.SyncResponse), n *tombolov1.Need) {
		needs <- n
		if n.GetSubscription() == 2 {
			heal(send, n)
		}
	}, exact(110, patchOp(t, 95, 110)), crossing, stray)
	e.eventually("healed", func() bool { return e.pods().Rev() == 111 })
	if got := state(e); got != "111: a@110 b@111" {
		t.Errorf("the edge shows %s", got)
	}
	for _, id := range []uint32{1, 2} {
		if n := <-needs; n.GetSubscription() != id || n.GetRev() != 100 || len(n.GetKeys()) != 1 {
			t.Errorf("%v", n)
		}
	}
}
