package inproc

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// large is an OpenAPI document of about n bytes that does not compress.
func large(path string, seed byte, n int) apidoc.Document {
	text := make([]byte, n)
	src := rand.NewChaCha8([32]byte{seed})
	_, _ = src.Read(text)
	return apidoc.Document{Path: path, Accept: "x", MediaType: "m", ETag: fmt.Sprintf(`"%d"`, seed), Body: apidoc.Pack(text)}
}

func plain(path, text string) apidoc.Document {
	return apidoc.Document{Path: path, MediaType: "application/json", Body: apidoc.Pack([]byte(text))}
}

// TestDocumentsFollowTheCloud: they come in parts, stay after a restart, and go when the cloud has them no longer.
func TestDocumentsFollowTheCloud(t *testing.T) {
	c := newFakeCloud(t)
	c.put("a", "u1", "n1")
	src := c.source()
	src.load()
	first := []apidoc.Document{plain("/apis", "1"), large("/openapi/v2", 1, 3<<20), large("/openapi/v3/a", 2, 100<<10), plain("/openapi/v3", "i")}
	src.docs.Replace(first)
	hub, stop := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	dir := t.TempDir()
	e := startEdge(t, dir, hub)
	same := func() bool { return e.Documents().Hash() == src.docs.Hash() }
	e.eventually("all documents are there", same)
	src.docs.Replace(append(first[1:3:3], plain("/apis", "2"), plain("/openapi/v3", "i")))
	e.eventually("a changed document is there", same)
	src.docs.Replace([]apidoc.Document{plain("/apis", "3")})
	e.eventually("the others are gone", same)
	e.waitFor(c.put("b", "u2", "n1"))
	e.stop()
	stop()
	e = startEdge(t, dir, hub)
	if !same() {
		t.Error("an edge that was restarted does not have the documents")
	}
}
