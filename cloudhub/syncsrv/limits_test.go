package syncsrv

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/internal/wirelimit"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// TestHellosAreBounded: what an edge says that it holds is remembered for as long as it is there.
func TestHellosAreBounded(t *testing.T) {
	long := strings.Repeat("x", maxText+1)
	for name, h := range map[string]*tombolov1.Hello{
		"too many positions":  {Positions: make([]*tombolov1.Position, maxPositions+1)},
		"a long epoch":        {Epoch: long},
		"a long hash":         {DocumentsHash: long},
		"a long version":      {Software: long},
		"a long view":         {Positions: []*tombolov1.Position{{View: long}}},
		"a position's epoch":  {Positions: []*tombolov1.Position{{Epoch: long}}},
		"a resource's name":   {Positions: []*tombolov1.Position{{Resource: &tombolov1.Resource{Resource: long}}}},
		"a resource's group":  {Positions: []*tombolov1.Position{{Resource: &tombolov1.Resource{Group: long}}}},
		"nothing out of line": {Positions: make([]*tombolov1.Position, maxPositions), Software: long[:maxText]},
	} {
		want := codes.InvalidArgument
		if name == "nothing out of line" {
			want = codes.OK
		}
		if err := checkHello(h); status.Code(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestItemsWeighMoreThanTheirBytes: an empty one takes two bytes on the wire, and some hundred in memory.
func TestItemsWeighMoreThanTheirBytes(t *testing.T) {
	u, _ := testSubscription()
	items := make([]*tombolov1.Item, 2000)
	for i := range items {
		items[i] = &tombolov1.Item{}
	}
	part := &tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Inventory{Inventory: &tombolov1.Inventory{Items: items}}}
	var err error
	n := 0
	for ; err == nil && n < maxMail; n++ {
		err = u.s.handle(part)
	}
	if status.Code(err) != codes.ResourceExhausted || n*len(items)*itemWeight > maxMailBytes+2*len(items)*itemWeight {
		t.Errorf("%d items wait: %v", n*len(items), err)
	}
}

// TestAcksAreBounded: each position costs a look.
func TestAcksAreBounded(t *testing.T) {
	u, _ := testSubscription()
	ack := &tombolov1.Ack{Also: make([]*tombolov1.Durable, maxPositions+1)}
	if err := u.s.handle(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ack{Ack: ack}}); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
}

// TestOnlyFiguresOfAReportAreKept: whatever else it holds would take memory for as long as the session.
func TestOnlyFiguresOfAReportAreKept(t *testing.T) {
	r := &tombolov1.Report{Objects: 1}
	r.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 99, protowire.BytesType), make([]byte, 1<<20)))
	s := &session{can: capabilities{lazy: true}}
	if err := s.handle(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Report{Report: r}}); err != nil {
		t.Fatal(err)
	}
	if n := proto.Size(s.report.Load()); n > 100 {
		t.Errorf("%d bytes are kept", n)
	}
}

// TestRequestsThatTakeMuchMemoryAreRefused: before they do.
func TestRequestsThatTakeMuchMemoryAreRefused(t *testing.T) {
	items := make([]*tombolov1.Item, wirelimit.Max+1)
	for i := range items {
		items[i] = &tombolov1.Item{}
	}
	raw, err := proto.Marshal(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Inventory{Inventory: &tombolov1.Inventory{Items: items}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > maxReceived {
		t.Fatalf("it has %d bytes and would not come", len(raw))
	}
	if newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(raw)}, &tombolov1.SyncRequest{}) == nil {
		t.Errorf("%d items in %d KiB were taken", len(items), len(raw)>>10)
	}
}

// liveSubscription is one that is live, of a session that may be sent patches.
func liveSubscription(t *testing.T) *subscription {
	t.Helper()
	u, _ := testSubscription()
	u.s.can = capabilities{patches: true, ranges: true}
	u.s.srv.projections, u.s.srv.cfg.Source = newProjections(), newPodSource(t)
	u.s.srv.cfg.ProgressInterval, u.s.srv.cfg.CheckInterval = time.Second, time.Hour
	u.s.epoch, u.s.lastID = "e", 1
	u.gr = testPods.GroupResource()
	u.s.subs = append(u.s.subs, u)
	u.enliven(t)
	return u
}

func (u *subscription) enliven(t *testing.T) {
	t.Helper()
	u.letGoReader()
	u.log, u.view = u.s.srv.cfg.Source.(*podSource).log, testView(t, "{resource: pods}") //nolint:forcetypeassert // see above
	if u.projection == nil {
		u.projection = u.s.srv.projections.of(u.log, u.view)
	}
	u.goLive(u.log.Rev())
}

// TestNeedsAreBounded: in keys, and in how many there may be.
func TestNeedsAreBounded(t *testing.T) {
	u := liveSubscription(t)
	keys := make([]string, maxNeeded+1)
	for i := range keys {
		keys[i] = fmt.Sprint("ns/", i)
	}
	if err := u.s.need(t.Context(), &tombolov1.Need{Subscription: u.id, Keys: keys}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("%d keys: %v", len(keys), err)
	}
	if err := u.s.need(t.Context(), &tombolov1.Need{Subscription: u.id, Keys: keys[1:], Rev: 100}); err != nil {
		t.Errorf("%d keys: %v", len(keys)-1, err)
	}
	if len(u.whole) != maxNeeded || u.phase != live {
		t.Errorf("%d objects go whole, phase %d", len(u.whole), u.phase)
	}
	bounded(t, func() error {
		return u.s.need(t.Context(), &tombolov1.Need{Subscription: u.id, Rev: 100})
	})
}

// TestDisagreementIsBounded: a live edge that says again and again that it holds something else costs a look at all
// objects each time, though it agrees in between.
func TestDisagreementIsBounded(t *testing.T) {
	for name, disagree := range map[string]func(*subscription) error{
		"by ranges": func(u *subscription) error {
			return u.ranges(&tombolov1.Ranges{Subscription: u.id, Sums: make([]byte, 16*8)})
		},
		"by inventory": func(u *subscription) error { return u.inventory(&tombolov1.Inventory{Subscription: u.id}) },
	} {
		t.Run(name, func(t *testing.T) {
			u := liveSubscription(t)
			bounded(t, func() error {
				u.enliven(t)
				return disagree(u)
			})
		})
	}
}

// TestDemandsAreBounded: each may open and close resources.
func TestDemandsAreBounded(t *testing.T) {
	u := liveSubscription(t)
	u.s.wants = nil
	n := 0
	for n <= 2*demandBurst && allow(&u.s.wants, demandRate, demandBurst) {
		n++
	}
	if n < demandBurst || n > 2*demandBurst {
		t.Errorf("%d demands in a row", n)
	}
}

// bounded fails unless f, called over and over, fails with RESOURCE_EXHAUSTED after its burst. On a slow machine the rate
// lets some more through.
func bounded(t *testing.T, f func() error) {
	t.Helper()
	begin := time.Now()
	for n := 1; ; n++ {
		err := f()
		if status.Code(err) == codes.ResourceExhausted {
			if n < needBurst {
				t.Errorf("the %d. is one too many", n)
			}
			return
		}
		if allowed := needBurst + 1 + needRate*(time.Since(begin).Seconds()+1); err != nil || float64(n) > allowed {
			t.Fatalf("the %d.: %v", n, err)
		}
	}
}
