package session

import (
	"fmt"

	"github.com/tombolo-sync/tombolo/edgehub/store"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// Documents come in by themselves and become visible in parts: each is made durable as it arrives, so that a broken
// session is not begun again, and a part is served once all of it is there.

// documentIndex takes in what documents there are, and asks for those that the edge lacks.
func (s *session) documentIndex(m *tombolov1.DocumentIndex) error {
	ix, err := readIndex(m)
	if err != nil {
		return err
	}
	s.index = ix
	if err := s.sweep(); err != nil {
		return err
	}
	places := ix.needs(func(k documentKey, h apidoc.Hash) bool {
		_, ok := s.c.held(k, h)
		return ok
	})
	if err := s.publishDocuments(); err != nil {
		return err
	}
	if len(places) == 0 {
		return nil
	}
	return s.stream.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_DocumentNeed{
		DocumentNeed: &tombolov1.DocumentNeed{Entries: places, Hash: ix.hash},
	}})
}

// held returns the document for a key if the edge has it with that hash, served or not.
func (c *Client) held(k documentKey, h apidoc.Hash) (apidoc.Document, bool) {
	if d, ok := c.arrivals[k]; ok && d.Hash() == h {
		return d, true
	}
	d, ok := c.docs.Get(k.path, k.accept)
	return d, ok && d.Hash() == h
}

// sweep forgets arrivals that the index does not name: versions that were replaced before they were complete.
func (s *session) sweep() error {
	var old []apidoc.Document
	for _, d := range s.c.arrivals {
		if !s.index.wants(d) {
			old = append(old, d)
		}
	}
	if len(old) == 0 {
		return nil
	}
	if err := s.c.cfg.Store.Update(func(tx *store.Tx) error { return tx.DropArrivals(old) }); err != nil {
		return fmt.Errorf("forget API documents: %w", err)
	}
	for _, d := range old {
		delete(s.c.arrivals, keyOf(d))
	}
	return nil
}

// documents takes in documents that the edge has asked for.
func (s *session) documents(m *tombolov1.Documents) error {
	docs, err := s.index.admit(m)
	if err != nil {
		return err
	}
	if err := s.c.roomFor(docs); err != nil {
		return err
	}
	if err := s.c.cfg.Store.Update(func(tx *store.Tx) error { return tx.KeepArrivals(docs) }); err != nil {
		return fmt.Errorf("store API documents: %w", err)
	}
	s.progressed = true
	complete := false
	for _, d := range docs {
		s.c.arrivals[keyOf(d)] = d
		complete = s.index.arrived(keyOf(d)) || complete
	}
	if complete {
		if err := s.publishDocuments(); err != nil {
			return err
		}
	}
	s.acks.owed = true
	return nil
}

// roomFor fails when the edge would hold more than it may. The documents that are served count, too, as they stay until
// they are replaced.
func (c *Client) roomFor(docs []apidoc.Document) error {
	size := frames(docs) + frames(c.docs.All())
	for _, d := range c.arrivals {
		size += len(d.Body.Frame())
	}
	if size > 2*maxDocumentBytes {
		return fmt.Errorf("the hub sends API documents of %d bytes", size)
	}
	return nil
}

func frames(docs []apidoc.Document) (size int) {
	for _, d := range docs {
		size += len(d.Body.Frame())
	}
	return size
}

// publishDocuments makes visible every part that is complete, durably. The others stay what they were.
func (s *session) publishDocuments() error {
	var next []apidoc.Document
	for _, k := range s.index.keys {
		if s.index.left[k.part()] > 0 {
			continue
		}
		d, ok := s.c.held(k, s.index.want[k])
		if !ok {
			return fmt.Errorf("document %q is not there although it came", k)
		}
		next = append(next, d)
	}
	for _, d := range s.c.docs.All() {
		if s.index.left[d.Part()] > 0 {
			next = append(next, d)
		}
	}
	if size := frames(next); size > maxDocumentBytes {
		return fmt.Errorf("the hub sends API documents of %d bytes", size)
	}
	return s.replaceDocuments(next)
}

// replaceDocuments makes next what is served. Arrivals among them are arrivals no longer.
func (s *session) replaceDocuments(next []apidoc.Document) error {
	check := apidoc.NewSet()
	if check.Replace(next); check.Hash() == s.c.docs.Hash() {
		return nil
	}
	var used []apidoc.Document
	for _, d := range next {
		if a, ok := s.c.arrivals[keyOf(d)]; ok && a.Equal(d) {
			used = append(used, a)
		}
	}
	err := s.c.cfg.Store.Update(func(tx *store.Tx) error {
		if err := tx.PutDocuments(next); err != nil {
			return err
		}
		return tx.DropArrivals(used)
	})
	if err != nil {
		return fmt.Errorf("store API documents: %w", err)
	}
	for _, d := range used {
		delete(s.c.arrivals, keyOf(d))
	}
	s.c.docs.Replace(next)
	s.c.wishes.Reconsider() // what did not exist may do so by now
	return nil
}
