package inproc

import (
	"errors"
	"net"
	"slices"
	"testing"

	"google.golang.org/grpc"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// brokenHub sends the first document that an edge needs, and ends the session once the edge has it.
type brokenHub struct {
	tombolov1.UnimplementedSyncServiceServer
	docs  *apidoc.Set
	needs chan []uint32
	again chan struct{} // the next session may begin
}

var errBroken = errors.New("broken for the test")

func (h *brokenHub) Sync(stream tombolov1.SyncService_SyncServer) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	select {
	case <-h.again:
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
	asked := false
	defer func() {
		if !asked { // the edge had left before: the turn is another session's
			select {
			case h.again <- struct{}{}:
			default:
			}
		}
	}()
	index := &tombolov1.DocumentIndex{Hash: h.docs.Hash()}
	for _, d := range h.docs.All() {
		hash := d.Hash()
		index.Entries = append(index.Entries, &tombolov1.DocumentEntry{Path: d.Path, Hash: hash[:]})
	}
	for _, m := range []*tombolov1.SyncResponse{
		{Message: &tombolov1.SyncResponse_Welcome{Welcome: &tombolov1.Welcome{Version: 1, Epoch: "e", ProgressIntervalMs: 60_000}}},
		{Message: &tombolov1.SyncResponse_DocumentIndex{DocumentIndex: index}},
	} {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		if m.GetAck().GetReceivedBytes() > 0 {
			return errBroken
		}
		if need := m.GetDocumentNeed(); need != nil {
			asked = true
			h.needs <- need.GetEntries()
			d := h.docs.All()[need.GetEntries()[0]]
			if err := stream.Send(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Documents{Documents: &tombolov1.Documents{
				Hash: h.docs.Hash(), Documents: []*tombolov1.Document{{Path: d.Path, MediaType: d.MediaType, Body: d.Body.Frame()}},
			}}}); err != nil {
				return err
			}
		}
	}
}

// TestBrokenSessionsGoOnWithTheDocumentsTheyHave: also after a restart, and nothing is served before all of it is there.
func TestBrokenSessionsGoOnWithTheDocumentsTheyHave(t *testing.T) {
	t.Parallel()
	h := &brokenHub{docs: apidoc.NewSet(), needs: make(chan []uint32, 8), again: make(chan struct{}, 8)}
	h.docs.Replace([]apidoc.Document{plain("/a", "1"), plain("/b", "2"), plain("/c", "3")})
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
	dir := t.TempDir()
	e := startEdge(t, dir, lis.Addr().String())
	for i, want := range [][]uint32{{0, 1, 2}, {1, 2}} {
		h.again <- struct{}{}
		if got := <-h.needs; !slices.Equal(got, want) {
			t.Errorf("session %d: the edge needs %v, not %v", i, got, want)
		}
		if e.Documents().Hash() != "" {
			t.Error("an incomplete set is served")
		}
	}
	// The second document is durable or not, as the edge may end before it came: the first one is.
	e.stop()
	e = startEdge(t, dir, lis.Addr().String())
	h.again <- struct{}{}
	if got := <-h.needs; slices.Contains(got, 0) || len(got) == 0 {
		t.Errorf("after a restart the edge needs %v", got)
	}
	h.again <- struct{}{}
	e.eventually("all documents are there", func() bool {
		select {
		case <-h.needs:
			h.again <- struct{}{}
		default:
		}
		return e.Documents().Hash() == h.docs.Hash()
	})
	e.stop()
}
