package apidoc

import (
	"bytes"
	"strconv"
	"sync"
	"testing"
)

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

func doc(path, accept, body string) Document {
	return Document{Path: path, Accept: accept, MediaType: "application/json", ETag: `"` + body + `"`, Body: Pack([]byte(body))}
}

func TestGetFindsTheVariant(t *testing.T) {
	s := NewSet()
	s.Replace([]Document{doc("/apis", aggregated, "new"), doc("/apis", "", "old"), doc("/api", "", "core")})
	for _, c := range []struct{ path, accept, want string }{
		{"/apis", "", "old"}, {"/apis", aggregated, "new"}, {"/api", "", "core"}, {"/api", aggregated, ""}, {"/ap", "", ""},
	} {
		d, ok := s.Get(c.path, c.accept)
		if ok != (c.want != "") || string(text(t, d.Body)) != c.want {
			t.Errorf("Get(%q, %q) = %q, %v; want %q", c.path, c.accept, text(t, d.Body), ok, c.want)
		}
	}
	if at := s.At("/apis"); len(at) != 2 || at[0].Accept != "" || string(text(t, at[1].Body)) != "new" {
		t.Errorf("At(/apis) = %v", at)
	}
	if at := s.At("/nope"); len(at) != 0 {
		t.Errorf("At(/nope) = %v", at)
	}
}

func TestReplaceTellsWhetherAnythingChanged(t *testing.T) {
	s := NewSet()
	if s.Hash() != "" {
		t.Errorf("the hash of nothing is %q", s.Hash())
	}
	if s.Replace(nil) {
		t.Error("an empty set changed into an empty one")
	}
	a, b := doc("/api", "", "1"), doc("/apis", "", "2")
	before := s.Changed()
	if !s.Replace([]Document{a, b}) {
		t.Error("the first documents are no change")
	}
	select {
	case <-before:
	default:
		t.Error("Changed was not closed")
	}
	hash, quiet := s.Hash(), s.Changed()
	if s.Replace([]Document{b, a}) {
		t.Error("another order is a change")
	}
	if s.Hash() != hash {
		t.Error("the hash depends on the order")
	}
	select {
	case <-quiet:
		t.Error("Changed was closed without a change")
	default:
	}
	b.ETag = `"x"`
	if !s.Replace([]Document{a, b}) || s.Hash() == hash {
		t.Error("another ETag is no change")
	}
	if !s.Replace(nil) || s.Hash() != "" || len(s.All()) != 0 {
		t.Error("the set is not empty after all documents were removed")
	}
}

func TestTheLastOfTwoVersionsCounts(t *testing.T) {
	s := NewSet()
	s.Replace([]Document{doc("/api", "", "first"), doc("/apis", "", "x"), doc("/api", "", "second")})
	if d, _ := s.Get("/api", ""); string(text(t, d.Body)) != "second" {
		t.Errorf("got %q", text(t, d.Body))
	}
	if len(s.All()) != 2 {
		t.Errorf("%d documents, want 2", len(s.All()))
	}
}

func TestReplaceDoesNotKeepTheSlice(t *testing.T) {
	s := NewSet()
	docs := []Document{doc("/api", "", "1")}
	s.Replace(docs)
	docs[0] = doc("/nope", "", "2")
	if _, ok := s.Get("/api", ""); !ok {
		t.Error("the set changed with the caller's slice")
	}
}

func TestHashSeparatesTheParts(t *testing.T) {
	a, b := NewSet(), NewSet()
	a.Replace([]Document{{Path: "/a", Accept: "b"}})
	b.Replace([]Document{{Path: "/ab", Accept: ""}})
	if a.Hash() == b.Hash() {
		t.Error("different sets have the same hash")
	}
}

func TestReadersSeeWholeVersions(t *testing.T) {
	s := NewSet()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				all := s.All()
				if len(all) == 2 && !bytes.Equal(text(t, all[0].Body), text(t, all[1].Body)) {
					t.Error("documents of two versions at once")
				}
			}
		})
	}
	for i := range 200 {
		v := strconv.Itoa(i)
		s.Replace([]Document{doc("/api", "", v), doc("/apis", "", v)})
	}
	wg.Wait()
}

func TestEqual(t *testing.T) {
	a := doc("/a", "x", "b")
	for _, b := range []Document{
		doc("/b", "x", "b"), doc("/a", "y", "b"), doc("/a", "x", "c"),
		{Path: "/a", Accept: "x", MediaType: "text/plain", ETag: a.ETag, Body: a.Body},
		{Path: "/a", Accept: "x", MediaType: a.MediaType, Body: a.Body},
	} {
		if a.Equal(b) {
			t.Errorf("%v equals %v", a, b)
		}
	}
	if !a.Equal(doc("/a", "x", "b")) {
		t.Error("a document differs from its copy")
	}
}
