package inproc

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// comes opens a session with a Hello.
func comes(t *testing.T, hub string, hello *tombolov1.Hello) tombolov1.SyncService_SyncClient {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	hello = proto.CloneOf(hello)
	hello.Edge = "edge-raw"
	s, err := tombolov1.NewSyncServiceClient(dialRaw(t, hub)).Sync(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Hello{Hello: hello}}); err != nil {
		t.Fatal(err)
	}
	return s
}

// plan returns the next plan that the hub announces.
func plan(t *testing.T, s tombolov1.SyncService_SyncClient) (next *tombolov1.Subscription) {
	t.Helper()
	awaitMessage(t, s, func(m *tombolov1.SyncResponse) bool { next = m.GetSubscription(); return next != nil })
	return next
}

func wantDisputed(t *testing.T, s tombolov1.SyncService_SyncClient) {
	t.Helper()
	if p := plan(t, s); p.GetPlan() != tombolov1.Plan_PLAN_WAIT || !strings.Contains(p.GetReason(), "lost sight of the cloud") {
		t.Fatalf("the plan is %v", p)
	}
}

// TestBlindHubCorrectsNobody: while a hub has lost sight of the cloud, it does not bring an edge to its own state that says
// something else. It does as soon as it follows again.
func TestBlindHubCorrectsNobody(t *testing.T) {
	c := newFakeCloud(t)
	c.put("a", "u1", "mine")
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, myPods), "127.0.0.1:0")
	held := heldOf(t, hub, src)
	other := proto.CloneOf(held)
	other.GetPositions()[0].Digest[0] ^= 1
	src.log.SetLost(time.Now())

	t.Run("at the beginning", func(t *testing.T) {
		s := comes(t, hub, other)
		wantDisputed(t, s)
		src.log.SetFollowing()
		if p := plan(t, s); p.GetPlan() != tombolov1.Plan_PLAN_RECONCILE {
			t.Errorf("then the plan is %v", p)
		}
		src.log.SetLost(time.Now())
	})
	t.Run("after a checkpoint", func(t *testing.T) {
		untold := proto.CloneOf(held)
		untold.GetPositions()[0].Digest = nil
		s := comes(t, hub, untold)
		var id uint32
		awaitMessage(t, s, func(m *tombolov1.SyncResponse) bool { id = m.GetCheckpoint().GetSubscription(); return id != 0 })
		for _, whole := range []bool{false, true} {
			m := &tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ranges{
				Ranges: &tombolov1.Ranges{Subscription: id, Sums: make([]byte, 8*16), Reason: "other"},
			}}
			if whole {
				m.Message = &tombolov1.SyncRequest_Inventory{Inventory: &tombolov1.Inventory{Subscription: id, Reason: "other"}}
			}
			if err := s.Send(m); err != nil {
				t.Fatal(err)
			}
			wantDisputed(t, s)
			src.log.SetFollowing()
			p := plan(t, s)
			if id = p.GetId(); p.GetPlan() != tombolov1.Plan_PLAN_RESUME {
				t.Fatalf("then the plan is %v", p)
			}
			awaitMessage(t, s, func(m *tombolov1.SyncResponse) bool { return m.GetCheckpoint().GetSubscription() == id })
			src.log.SetLost(time.Now())
		}
	})
	t.Run("and the cloud was restored", func(t *testing.T) {
		s := comes(t, hub, other)
		wantDisputed(t, s)
		b := c.backup()
		c.restore(b)
		if p := plan(t, s); p.GetPlan() == tombolov1.Plan_PLAN_WAIT {
			p = plan(t, s) // the new log is being opened
			if p.GetPlan() != tombolov1.Plan_PLAN_RECONCILE || !p.GetRewound() {
				t.Errorf("then the plan is %v", p)
			}
		}
	})
}

// TestEdgeKeepsTheNewHistory: an edge that has gone on with a restored cloud meets a hub that has not noticed yet. It keeps what
// it has, says that it may be behind, and goes on once the hub has noticed. Who has nothing is given what the hub has.
func TestEdgeKeepsTheNewHistory(t *testing.T) {
	c := bigCloud(t)
	late := c.source()
	late.load()
	saved := c.backup()
	c.lose()
	c.lose()
	late.log.SetLost(time.Now())

	restored := newFakeCloud(t)
	restored.restore(saved)
	src := restored.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	blind, _ := startHub(t, late, newScopes(t, allPods), "127.0.0.1:0")
	r, addr := startRelay(t, hub, asItIs)
	var waits atomic.Bool
	r.last = func(m *tombolov1.SyncResponse) bool {
		if m.GetSubscription().GetPlan() == tombolov1.Plan_PLAN_WAIT {
			waits.Store(true)
		}
		return false
	}
	e := startEdge(t, t.TempDir(), addr)
	e.waitFor(restored.put("p50", "u50", bulky(2000)))
	e.following()
	log, rev := e.pods(), e.pods().Rev()

	r.cut()
	r.lead(blind)
	r.mend()
	e.eventually("the edge waits", waits.Load)
	if e.pods() != log || log.Rev() != rev {
		t.Errorf("the edge has gone from %d to %d", rev, e.pods().Rev())
	}
	e.holds(restored)
	if live, _ := e.Contact(); live {
		t.Error("the edge takes itself for current")
	}
	fresh := comes(t, blind, &tombolov1.Hello{Version: 1})
	awaitMessage(t, fresh, func(m *tombolov1.SyncResponse) bool { return len(m.GetBatch().GetOperations()) > 0 })

	c.restore(restored.backup())
	e.following()
	e.holds(c)
}
