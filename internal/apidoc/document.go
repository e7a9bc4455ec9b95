package apidoc

import (
	"bytes"
	"cmp"
	"errors"
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
	// Body must not be changed once the document is in a Set.
	Body []byte
}

// Equal tells whether both are the same in every part.
func (d Document) Equal(o Document) bool {
	return d.Path == o.Path && d.Accept == o.Accept && d.MediaType == o.MediaType && d.ETag == o.ETag &&
		bytes.Equal(d.Body, o.Body)
}

// compare orders documents by path, then by Accept.
func (d Document) compare(o Document) int {
	return cmp.Or(cmp.Compare(d.Path, o.Path), cmp.Compare(d.Accept, o.Accept))
}
