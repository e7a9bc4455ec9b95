// Package apidoc holds the documents with which an API server describes itself (discovery, version, OpenAPI), as the
// cloud served them. They are kept and served verbatim: kubectl and client-go decide by their exact media types and
// revalidate by their exact ETags.
package apidoc
