package inproc

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/tombolo-sync/tombolo/edgehub"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// scriptedHub brings every edge to a good state and then, on the first session, sends whatever a test wants.
type scriptedHub struct {
	tombolov1.UnimplementedSyncServiceServer
	script   func(send func(*tombolov1.SyncResponse))
	sessions atomic.Int32
	ended    chan struct{} // closed when the edge has ended the first session
	acks     chan *tombolov1.Ack
	// answer, if any, is what a Need is answered with. A hub that has one can make patches and frames.
	answer func(send func(*tombolov1.SyncResponse), n *tombolov1.Need)
	plain  atomic.Int32 // sessions of an edge that can't
}

func podJSON(name, uid string, rev uint64) []byte {
	return fmt.Appendf(nil, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"ns","uid":%q,"resourceVersion":"%d"}}`,
		name, uid, rev)
}

func putOp(name, uid string, rev uint64) *tombolov1.Operation {
	data := podJSON(name, uid, rev)
	return &tombolov1.Operation{
		Key: "ns/" + name, Type: tombolov1.OperationType_OPERATION_TYPE_PUT, Rev: rev,
		Encoding: tombolov1.Encoding_ENCODING_JSON, Crc32C: delta.Checksum(data), Data: data,
	}
}

func batch(b *tombolov1.Batch) *tombolov1.SyncResponse {
	b.Subscription = 1
	return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Batch{Batch: b}}
}

func checkpoint(rev uint64, of ...[]byte) *tombolov1.SyncResponse {
	c := newFakeCloud(nil)
	var d delta.Digest
	for _, raw := range of {
		d.Add(c.decode(raw))
	}
	return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Checkpoint{
		Checkpoint: &tombolov1.Checkpoint{Subscription: 1, Rev: rev, Count: d.Count, Digest: d.Bytes()},
	}}
}

func subscription(plan tombolov1.Plan) *tombolov1.SyncResponse {
	return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Subscription{Subscription: &tombolov1.Subscription{
		Resource: &tombolov1.Resource{Resource: "pods"}, Id: 1, View: "v", Plan: plan,
		Info: &tombolov1.ResourceInfo{Version: "v1", Kind: "Pod", ListKind: "PodList", Namespaced: true},
	}}}
}

func (h *scriptedHub) Sync(stream tombolov1.SyncService_SyncServer) error {
	hello, err := stream.Recv()
	if err != nil {
		return err
	}
	send := func(m *tombolov1.SyncResponse) { _ = stream.Send(m) } // a stream that the edge has ended
	send(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Welcome{
		Welcome: &tombolov1.Welcome{Version: 1, Epoch: "e", ProgressIntervalMs: 60_000, Capabilities: h.capabilities()},
	}})
	if !slices.Contains(hello.GetHello().GetCapabilities(), tombolov1.Capability_CAPABILITY_ZSTD_PATCH) {
		h.plain.Add(1)
	}
	first := h.sessions.Add(1) == 1
	if len(hello.GetHello().GetPositions()) > 0 {
		send(subscription(tombolov1.Plan_PLAN_RESUME))
	} else {
		send(subscription(tombolov1.Plan_PLAN_CHANGES))
		send(batch(&tombolov1.Batch{Operations: []*tombolov1.Operation{putOp("a", "u1", 90)}, UptoRev: 90, More: true}))
		send(checkpoint(100, podJSON("a", "u1", 90)))
	}
	if first {
		h.script(send)
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			if first {
				close(h.ended)
			}
			return err
		}
		if n := m.GetNeed(); n != nil {
			h.answer(send, n)
		}
		if a := m.GetAck(); a != nil {
			select {
			case h.acks <- a:
			default:
			}
		}
	}
}

func (h *scriptedHub) capabilities() []tombolov1.Capability {
	if h.answer == nil {
		return nil
	}
	return []tombolov1.Capability{tombolov1.Capability_CAPABILITY_ZSTD_PATCH, tombolov1.Capability_CAPABILITY_ZSTD_BATCH}
}

// withScript runs an edge against a hub that sends messages after the edge has come to position 100 with the pod a@90.
func withScript(t *testing.T, messages ...*tombolov1.SyncResponse) (*edge, *scriptedHub) {
	t.Helper()
	return withAnswers(t, edgehub.Config{}, nil, messages...)
}

// withAnswers is withScript for a hub that makes patches and frames, and an edge with a configuration.
func withAnswers(
	t *testing.T, cfg edgehub.Config, answer func(func(*tombolov1.SyncResponse), *tombolov1.Need), messages ...*tombolov1.SyncResponse,
) (*edge, *scriptedHub) {
	t.Helper()
	h := &scriptedHub{
		answer: answer,
		script: func(send func(*tombolov1.SyncResponse)) {
			for _, m := range messages {
				send(m)
			}
		},
		ended: make(chan struct{}), acks: make(chan *tombolov1.Ack, 64),
	}
	srv := grpc.NewServer()
	tombolov1.RegisterSyncServiceServer(srv, h)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	cfg.DataDir, cfg.Hubs = t.TempDir(), []string{lis.Addr().String()}
	return startEdgeWith(t, cfg), h
}

// state is what an edge shows.
func state(e *edge) string {
	snap := e.pods().Snapshot()
	out := fmt.Sprint(snap.Rev(), ":")
	for o := range snap.All("") {
		out += fmt.Sprintf(" %s@%d", o.Name(), o.Rev())
	}
	return out
}

// TestHubThatBreaksTheRules: what does not follow is refused, the session ends, nothing of it is visible, and the edge
// comes back.
func TestHubThatBreaksTheRules(t *testing.T) {
	damaged := putOp("b", "u2", 110)
	damaged.Data[len(damaged.Data)-3] ^= 1
	damagedCells := putOp("b", "u2", 110)
	damagedCells.Cells = []byte(`["b"]`)
	badCells := putOp("b", "u2", 110)
	badCells.Cells = []byte(`["b"`)
	badCells.Crc32C = delta.Checksum(badCells.Data, badCells.Cells)
	otherKey := putOp("b", "u2", 110)
	otherKey.Key = "ns/c"
	notJSON := putOp("b", "u2", 110)
	notJSON.Data = []byte("{")
	notJSON.Crc32C = delta.Checksum(notJSON.Data)
	patch := putOp("b", "u2", 110)
	patch.Encoding = tombolov1.Encoding_ENCODING_ZSTD_PATCH
	unknown := batch(&tombolov1.Batch{UptoRev: 110})
	unknown.GetBatch().Subscription = 7
	ops := func(ops ...*tombolov1.Operation) *tombolov1.SyncResponse {
		return batch(&tombolov1.Batch{Operations: ops, UptoRev: 110})
	}
	for name, m := range map[string]*tombolov1.SyncResponse{
		"a damaged object":            ops(damaged),
		"damaged cells":               ops(damagedCells),
		"cells that are no JSON":      ops(badCells),
		"an object under another key": ops(otherKey),
		"an object that is no JSON":   ops(notJSON),
		"a patch nobody agreed on":    ops(patch),
		"a subscription nobody knows": unknown,
		"revisions out of order":      ops(putOp("b", "u2", 109), putOp("c", "u3", 108)),
		"a revision behind the batch": ops(putOp("b", "u2", 111)),
		"an unknown operation":        ops(&tombolov1.Operation{Key: "ns/b", Rev: 110}),
		"a deletion without a key":    ops(&tombolov1.Operation{Type: tombolov1.OperationType_OPERATION_TYPE_DELETE, Rev: 110}),
		"a digest of the wrong size": {Message: &tombolov1.SyncResponse_Checkpoint{
			Checkpoint: &tombolov1.Checkpoint{Subscription: 1, Rev: 100, Count: 1, Digest: []byte("x")},
		}},
		"a second welcome": {Message: &tombolov1.SyncResponse_Welcome{Welcome: &tombolov1.Welcome{Version: 1, Epoch: "e"}}},
		"nothing at all":   {},
		"documents without an index": {Message: &tombolov1.SyncResponse_Documents{Documents: &tombolov1.Documents{
			Documents: []*tombolov1.Document{{Path: "/version", Body: apidoc.Pack([]byte("{}")).Frame()}},
		}}},
		"an index with another hash": {Message: &tombolov1.SyncResponse_DocumentIndex{DocumentIndex: &tombolov1.DocumentIndex{
			Hash: "x", Entries: []*tombolov1.DocumentEntry{{Path: "/version", Hash: make([]byte, apidoc.HashSize)}},
		}}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			e, h := withScript(t, m)
			e.eventually("synced", func() bool { return e.pods().Rev() == 100 })
			<-h.ended
			if got := state(e); got != "100: a@90" {
				t.Errorf("the edge shows %s", got)
			}
			e.eventually("back", func() bool { return h.sessions.Load() > 1 })
		})
	}
}

// TestLateDuplicatesChangeNothing: a replayed create, an older version and an old deletion are known already.
func TestLateDuplicatesChangeNothing(t *testing.T) {
	e, h := withScript(t,
		batch(&tombolov1.Batch{Operations: []*tombolov1.Operation{putOp("a", "u1", 110), putOp("b", "u2", 111)}, UptoRev: 111}),
		batch(&tombolov1.Batch{Operations: []*tombolov1.Operation{putOp("b", "u2", 111)}, UptoRev: 111}),
		batch(&tombolov1.Batch{Operations: []*tombolov1.Operation{putOp("a", "u1", 90)}, UptoRev: 90}),
		batch(&tombolov1.Batch{Operations: []*tombolov1.Operation{
			{Key: "ns/b", Type: tombolov1.OperationType_OPERATION_TYPE_DELETE, Rev: 100},
		}, UptoRev: 112}),
	)
	e.waitFor(112)
	if got := state(e); got != "112: a@110 b@111" {
		t.Errorf("the edge shows %s", got)
	}
	if n := h.sessions.Load(); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// TestSilentHubIsGivenUp: a link that swallows everything looks like a quiet one, but a hub is never quiet for long.
func TestSilentHubIsGivenUp(t *testing.T) {
	t.Parallel()
	h := &silentHub{ended: make(chan struct{}, 8)}
	srv := grpc.NewServer()
	tombolov1.RegisterSyncServiceServer(srv, h)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	defer func() {
		srv.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	startEdge(t, t.TempDir(), lis.Addr().String())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case <-h.ended:
	case <-ctx.Done():
		t.Fatal("the edge waits for a hub that says nothing")
	}
}

type silentHub struct {
	tombolov1.UnimplementedSyncServiceServer
	ended chan struct{}
}

func (h *silentHub) Sync(stream tombolov1.SyncService_SyncServer) error {
	err := stream.Send(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Welcome{
		Welcome: &tombolov1.Welcome{Version: 1, Epoch: "e", ProgressIntervalMs: 1},
	}})
	<-stream.Context().Done()
	h.ended <- struct{}{}
	return err
}

// TestEdgeThatNeverReadsDelaysNobody: it costs the hub a window of bytes and a cursor.
func TestEdgeThatNeverReadsDelaysNobody(t *testing.T) {
	t.Parallel()
	c := newFakeCloud(t)
	for i := range 2000 {
		c.put(fmt.Sprint("p", i), fmt.Sprint("u", i), noise(4000))
	}
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	stuck := openRaw(t, hub, "stuck")
	e := startEdge(t, t.TempDir(), hub)
	e.holds(c)
	for i := range 50 {
		e.waitFor(c.put(fmt.Sprint("p", i), fmt.Sprint("u", i), "other"))
	}
	e.holds(c)
	if err := stuck.Context().Err(); err != nil {
		t.Errorf("the stuck edge was cut: %v", err)
	}
}

// TestHubThatIsToldNonsenseEndsOnlyThatSession.
func TestHubThatIsToldNonsenseEndsOnlyThatSession(t *testing.T) {
	c := newFakeCloud(t)
	c.put("a", "u1", "mine")
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	e.holds(c)
	for name, m := range map[string]*tombolov1.SyncRequest{
		"nothing":        {},
		"a second hello": {Message: &tombolov1.SyncRequest_Hello{Hello: &tombolov1.Hello{Version: 1, Edge: "x"}}},
		"a need":         {Message: &tombolov1.SyncRequest_Need{Need: &tombolov1.Need{Subscription: 1, Keys: []string{"ns/a"}}}},
	} {
		s := openRaw(t, hub, "other-"+strings.ReplaceAll(name, " ", "-"))
		if err := s.Send(m); err != nil {
			t.Fatal(err)
		}
		var err error
		for err == nil {
			_, err = s.Recv()
		}
		if !strings.Contains(err.Error(), "out of place") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, m := range map[string]*tombolov1.SyncRequest{
		"an ack of what was not sent": {Message: &tombolov1.SyncRequest_Ack{Ack: &tombolov1.Ack{Subscription: 99, Rev: 1 << 60, ReceivedBytes: 1 << 63}}},
		"an inventory of nothing known": {Message: &tombolov1.SyncRequest_Inventory{Inventory: &tombolov1.Inventory{
			Subscription: 99, Items: []*tombolov1.Item{{Key: "x"}},
		}}},
	} {
		s := openRaw(t, hub, "odd-"+strings.ReplaceAll(name, " ", "-"))
		if err := s.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	e.waitFor(c.put("b", "u2", "mine"))
	e.holds(c)
}

// openRaw opens a session and reads nothing of it.
func openRaw(t *testing.T, hub, name string) tombolov1.SyncService_SyncClient {
	t.Helper()
	conn := dialRaw(t, hub)
	s, err := tombolov1.NewSyncServiceClient(conn).Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hello := &tombolov1.Hello{Version: 1, Edge: name}
	if err := s.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Hello{Hello: hello}}); err != nil {
		t.Fatal(err)
	}
	return s
}
