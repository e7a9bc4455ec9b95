// Package apidoc holds the documents with which an API server describes itself (discovery, version, OpenAPI), as the
// cloud served them. They are kept and served verbatim: kubectl and client-go decide by their exact media types and
// revalidate by their exact ETags.
//
// A document's text is held as a zstd frame, in memory as on the wire and on disk, whatever its size: the OpenAPI
// documents of a cluster are 17 MB of text and 1.6 MB of frames. It is decompressed as it is served.
package apidoc
