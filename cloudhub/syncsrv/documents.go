package syncsrv

import (
	"cmp"
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// documentBytes is how many bytes of documents a message holds at most, unless a single document is larger. It is what
// the events of a live edge may have to wait for.
const documentBytes = 64 << 10

// shelf is what a session knows of its edge's API documents. It belongs to whose turn the session is.
type shelf struct {
	hash    string          // of what the edge holds or was told last
	edition *apidoc.Edition // what the edge was told last; nil before
	wanted  []int           // the places in it of what the edge has asked for and was not sent
}

// stepDocuments tells the edge what API documents there are, or sends some that it has asked for. It tells whether there
// is more to send.
func (s *session) stepDocuments() (bool, error) {
	d := &s.shelf
	now := s.srv.cfg.Source.Documents().Current()
	if now != d.edition && now.Hash() != d.hash && now.Hash() != "" {
		d.hash, d.edition, d.wanted = now.Hash(), now, nil
		return false, s.send(s.srv.documentIndex(now))
	}
	if len(d.wanted) == 0 {
		return false, nil
	}
	m := &tombolov1.Documents{Hash: d.hash}
	for size := 0; len(d.wanted) > 0; d.wanted = d.wanted[1:] {
		doc := d.edition.All()[d.wanted[0]]
		frame := doc.Body.Frame()
		if size += len(frame); size > documentBytes && len(m.GetDocuments()) > 0 {
			break
		}
		m.Documents = append(m.Documents, &tombolov1.Document{
			Path: doc.Path, Accept: doc.Accept, MediaType: doc.MediaType, Etag: doc.ETag, Body: frame,
		})
		s.srv.metrics.documentBytes.Add(float64(len(frame)))
	}
	m.More = len(d.wanted) > 0
	return m.GetMore(), s.send(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Documents{Documents: m}})
}

// documentsDue tells whether stepDocuments has something to send.
func (s *session) documentsDue() bool {
	d := &s.shelf
	now := s.srv.cfg.Source.Documents().Current()
	return len(d.wanted) > 0 || now != d.edition && now.Hash() != d.hash && now.Hash() != ""
}

// documentNeed takes note of what the edge asks for. What it was sent of the same index already it may ask for again.
func (s *session) documentNeed(ctx context.Context, n *tombolov1.DocumentNeed) error {
	d := &s.shelf
	if ctx.Err() != nil || d.edition == nil || n.GetHash() != d.hash {
		return ctx.Err()
	}
	docs := d.edition.All()
	if len(n.GetEntries()) > len(docs) {
		return status.Error(codes.InvalidArgument, "the edge asks for more documents than there are")
	}
	d.wanted = make([]int, 0, len(n.GetEntries()))
	for _, at := range n.GetEntries() {
		if uint64(at) >= uint64(len(docs)) {
			return status.Errorf(codes.InvalidArgument, "the edge asks for document %d of %d", at, len(docs))
		}
		d.wanted = append(d.wanted, int(at))
	}
	slices.SortStableFunc(d.wanted, func(a, b int) int { return cmp.Compare(docs[a].Part(), docs[b].Part()) })
	return nil
}

// index is the message that tells edges of an edition. It is built once, and never changed.
type index struct {
	edition *apidoc.Edition
	message *tombolov1.SyncResponse
}

// documentIndex returns the message that tells edges of an edition.
func (s *Server) documentIndex(e *apidoc.Edition) *tombolov1.SyncResponse {
	if known := s.index.Load(); known != nil && known.edition == e {
		return known.message
	}
	m := &tombolov1.DocumentIndex{Hash: e.Hash()}
	hashes := e.Hashes()
	for i, d := range e.All() {
		m.Entries = append(m.Entries, &tombolov1.DocumentEntry{Path: d.Path, Accept: d.Accept, Hash: hashes[i][:]})
	}
	built := &index{e, &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_DocumentIndex{DocumentIndex: m}}}
	s.index.Store(built)
	return built.message
}
