package apidoc

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"
)

// ErrUnknownResource is what a backend answers for a resource that it does not hold.
var ErrUnknownResource = errors.New("unknown resource")

// Document is one API document as the cloud served it for one Accept.
type Document struct {
	// Path is the URL path without a query: "/apis", "/api/v1", "/openapi/v3/apis/apps/v1".
	Path string
	// Accept selects the variant: "" for plain JSON, else the media type with the parameters that select it, as
	// "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList".
	Accept string
	// MediaType is the Content-Type of the answer, verbatim.
	MediaType string
	// ETag is verbatim, quotes included; "" if the answer had none.
	ETag string
	// Body is the text of the answer.
	Body Body
}

// Hash identifies the document: equal ones have equal hashes, in any process. It is the SHA-256, cut to 128 bits, of path,
// Accept, media type and ETag, each behind its length as 8 bytes, big endian, and of the text's SHA-256, cut likewise (16
// zero bytes for an empty text).
func (d Document) Hash() Hash {
	h := sha256.New()
	var size [8]byte
	for _, s := range [...]string{d.Path, d.Accept, d.MediaType, d.ETag} { // lengths, so that no two feed the same bytes
		binary.BigEndian.PutUint64(size[:], uint64(len(s)))
		h.Write(size[:])
		h.Write([]byte(s))
	}
	h.Write(d.Body.sum[:])
	return sum(h)
}

// Equal tells whether both are the same in every part.
func (d Document) Equal(o Document) bool {
	return d.Path == o.Path && d.Accept == o.Accept && d.MediaType == o.MediaType && d.ETag == o.ETag &&
		d.Body.size == o.Body.size && d.Body.sum == o.Body.sum
}

// Part returns the part of a set that the document belongs to.
func (d Document) Part() Part {
	switch {
	case strings.HasPrefix(d.Path, "/openapi/v2"):
		return OpenAPIV2
	case strings.HasPrefix(d.Path, "/openapi/"):
		return OpenAPIV3
	default:
		return Discovery
	}
}

// compare orders documents by path, then by Accept.
func (d Document) compare(o Document) int {
	return cmp.Or(cmp.Compare(d.Path, o.Path), cmp.Compare(d.Accept, o.Accept))
}
