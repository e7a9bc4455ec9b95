package session

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/edgehub/store"
	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// brokenStream takes no message.
type brokenStream struct{ grpc.ClientStream }

var errBroken = errors.New("the stream is broken")

func (brokenStream) Send(*tombolov1.SyncRequest) error { return errBroken }

func (brokenStream) Recv() (*tombolov1.SyncResponse, error) { return nil, errBroken }

// twoResources returns a session with pods as subscription 1 and secrets as 2, both at position 10 and empty.
func twoResources(t *testing.T, o store.Options) *session {
	t.Helper()
	st, err := store.Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return sessionOver(t, st)
}

func sessionOver(t *testing.T, st *store.Store) *session {
	t.Helper()
	c, err := New(Config{Edge: "edge-1", Hubs: []string{"127.0.0.1:1"}, Store: st, Credentials: insecure.NewCredentials()})
	if err != nil {
		t.Fatal(err)
	}
	s := &session{
		c: c, line: &line{}, stream: brokenStream{}, epoch: "e", ids: map[uint32]*replica{}, numbers: map[*replica]uint32{}, acks: newAcks(),
	}
	for i, name := range []string{"pods", "secrets"} {
		id := uint32(i + 1) //nolint:gosec // two
		if err := s.subscription(&tombolov1.Subscription{
			Resource: &tombolov1.Resource{Resource: name}, Id: id, View: "v", Plan: tombolov1.Plan_PLAN_CHANGES,
			Info: &tombolov1.ResourceInfo{Version: "v1", Kind: "Thing", Namespaced: true},
		}); err != nil {
			t.Fatal(err)
		}
		err := s.checkpoint(&tombolov1.Checkpoint{Subscription: id, Rev: 10, Digest: (&delta.Digest{}).Bytes()})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.acks = newAcks() // as if the hub had heard
	return s
}

func thing(name string, rev uint64) *tombolov1.Operation {
	data := fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"ns","uid":"u","resourceVersion":"%d"}}`, name, rev)
	return &tombolov1.Operation{
		Key: "ns/" + name, Type: tombolov1.OperationType_OPERATION_TYPE_PUT, Rev: rev,
		Encoding: tombolov1.Encoding_ENCODING_JSON, Crc32C: delta.Checksum(data), Data: data,
	}
}

// TestWhatIsStoredIsShown: the commit of a group leaves no log behind its store, where nothing would follow any more.
func TestWhatIsStoredIsShown(t *testing.T) {
	s := twoResources(t, store.Options{})
	g := newGroup(s)
	for id := range uint32(2) {
		taken, err := g.take(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Batch{Batch: &tombolov1.Batch{
			Subscription: id + 1, Operations: []*tombolov1.Operation{thing("a", 12)}, UptoRev: 12,
		}}})
		if !taken || err != nil {
			t.Fatal(taken, err)
		}
	}
	if err := g.commit(); err != nil {
		t.Fatal(err)
	}
	states, err := s.c.cfg.Store.Resources()
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range states {
		l, err := s.c.Log(schema.GroupVersionResource{Version: "v1", Resource: st.Resource.Name})
		if err != nil {
			t.Fatal(err)
		}
		if st.Rev != 12 || l.Rev() != 12 || l.Snapshot().Len() != 1 {
			t.Errorf("%s: stored at %d, shown at %d with %d objects", st.Resource.Name, st.Rev, l.Rev(), l.Snapshot().Len())
		}
	}
}

// TestSessionThatStoresNothingComesToNothing: with a full disk the hub's window comes over the link for nothing, so it
// must not come again at once.
func TestSessionThatStoresNothingComesToNothing(t *testing.T) {
	full := false
	s := twoResources(t, store.Options{Failpoint: func(step string) error {
		if full && step == store.StepCommit {
			return store.ErrDiskFull
		}
		return nil
	}})
	commit := func(rev uint64) error {
		g := newGroup(s)
		if _, err := g.take(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Batch{Batch: &tombolov1.Batch{
			Subscription: 1, Operations: []*tombolov1.Operation{thing("a", rev)}, UptoRev: rev,
		}}}); err != nil {
			t.Fatal(err)
		}
		return g.commit()
	}
	s.progressed, full = false, true
	if err := commit(12); !errors.Is(err, store.ErrDiskFull) || s.progressed {
		t.Errorf("full: %v, progressed %v", err, s.progressed)
	}
	full = false
	if err := commit(13); err != nil || !s.progressed {
		t.Errorf("with space: %v, progressed %v", err, s.progressed)
	}
}
