package syncsrv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"

	"k8s.io/apimachinery/pkg/runtime/schema"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// documentSource is a source with documents only.
type documentSource struct{ set *apidoc.Set }

func (documentSource) Epoch() string            { return "e" }
func (s documentSource) Documents() *apidoc.Set { return s.set }
func (documentSource) Open(context.Context, schema.GroupResource) (*watchlog.Log, func(), error) {
	return nil, nil, apidoc.ErrUnknownResource
}

func noise(path string, seed byte, n int) apidoc.Document {
	text := make([]byte, n)
	src := rand.NewChaCha8([32]byte{seed})
	_, _ = src.Read(text)
	return apidoc.Document{Path: path, Body: apidoc.Pack(text)}
}

func documentSession(docs ...apidoc.Document) (*session, *fakeStream, *apidoc.Set) {
	u, stream := testSubscription()
	set := apidoc.NewSet()
	set.Replace(docs)
	u.s.srv.cfg.Source = documentSource{set}
	u.s.srv.cfg.Window = 100 << 10
	return u.s, stream, set
}

func turn(t *testing.T, s *session) (busy bool) {
	t.Helper()
	busy, err := s.run(t.Context(), bulk)
	if err != nil {
		t.Fatal(err)
	}
	return busy
}

func need(t *testing.T, s *session, hash string, entries ...uint32) {
	t.Helper()
	if err := s.documentNeed(t.Context(), &tombolov1.DocumentNeed{Hash: hash, Entries: entries}); err != nil {
		t.Fatal(err)
	}
}

// paths returns the documents of the messages that were sent, each message in brackets, and forgets them.
func (s *fakeStream) paths() string {
	out := ""
	for _, m := range s.sent {
		if i := m.GetDocumentIndex(); i != nil {
			out += fmt.Sprint("index ", len(i.GetEntries()), " ")
		}
		if d := m.GetDocuments(); d != nil {
			var paths []string
			for _, d := range d.GetDocuments() {
				paths = append(paths, d.GetPath())
			}
			out += fmt.Sprint(paths)
		}
	}
	s.sent = nil
	return out
}

// TestDocumentsAreSentBetweenTurns: one bounded message a turn, the important ones first, and no more than the window.
func TestDocumentsAreSentBetweenTurns(t *testing.T) {
	s, stream, set := documentSession(
		noise("/openapi/v2", 1, 30<<10), noise("/openapi/v3", 2, 30<<10), noise("/openapi/v3/a", 3, 30<<10),
		noise("/openapi/v3/b", 4, 90<<10), noise("/version", 5, 10),
	)
	turn(t, s)
	if got := stream.paths(); got != "index 5 " {
		t.Fatal(got)
	}
	need(t, s, set.Hash(), 0, 1, 2, 3, 4)
	for _, want := range []struct {
		paths string
		busy  bool
	}{{"[/version /openapi/v3 /openapi/v3/a]", true}, {"[/openapi/v3/b]", true}, {"", false}} {
		if busy := turn(t, s); busy != want.busy {
			t.Errorf("busy: %v", busy)
		}
		if got := stream.paths(); got != want.paths {
			t.Errorf("sent %q, want %q", got, want.paths)
		}
	}
	s.received.Store(s.sent)
	if busy, got := turn(t, s), stream.paths(); busy || got != "[/openapi/v2]" {
		t.Errorf("sent %q", got)
	}
}

// TestNeedOfAnOlderIndex: its places mean other documents now.
func TestNeedOfAnOlderIndex(t *testing.T) {
	s, stream, set := documentSession(noise("/a", 1, 10), noise("/b", 2, 10))
	turn(t, s)
	old := set.Hash()
	set.Replace([]apidoc.Document{noise("/b", 3, 10)})
	turn(t, s)
	need(t, s, old, 0, 1)
	turn(t, s)
	if got := stream.paths(); got != "index 2 index 1 " {
		t.Errorf("sent %q", got)
	}
	need(t, s, set.Hash(), 0)
	turn(t, s)
	if got := stream.paths(); got != "[/b]" {
		t.Errorf("sent %q", got)
	}
	for _, entries := range [][]uint32{{1}, {0, 0}, slices.Repeat([]uint32{0}, 1000)} {
		if s.documentNeed(t.Context(), &tombolov1.DocumentNeed{Hash: set.Hash(), Entries: entries}) == nil {
			t.Errorf("%v was taken", entries)
		}
	}
}

func TestEdgeThatHoldsAllIsToldNothing(t *testing.T) {
	s, stream, set := documentSession(noise("/a", 1, 10))
	s.shelf.hash = set.Hash()
	turn(t, s)
	if got := stream.paths(); got != "" {
		t.Errorf("sent %q", got)
	}
}
