package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// What selects the protobuf form of OpenAPI documents (kube-openapi pkg/handler and pkg/handler3).
const (
	acceptOpenAPIV2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	acceptOpenAPIV3 = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
)

const (
	// parallelSpecs bounds how many OpenAPI documents are in memory uncompressed; one has up to a few MiB.
	parallelSpecs = 2
	// maxReadings is how often OpenAPI is read again because it changed meanwhile.
	maxReadings = 4
)

// errMoved says that the server's OpenAPI changed while it was read.
var errMoved = errors.New("the API server's OpenAPI documents changed while they were read")

// openAPI is one reading of one version's documents.
type openAPI struct {
	api *api
	old map[docKey]apidoc.Document // what the last reading got; not changed

	mu  sync.Mutex
	got map[docKey]apidoc.Document // guarded by mu
}

// readOpenAPI reads the documents of a version until none of them changed meanwhile.
func readOpenAPI(
	ctx context.Context, a *api, old map[docKey]apidoc.Document, read func(*openAPI, context.Context) error,
) (map[docKey]apidoc.Document, error) {
	err := errMoved
	for n := 0; errors.Is(err, errMoved) && n < maxReadings; n++ {
		o := &openAPI{api: a, old: old, got: map[docKey]apidoc.Document{}}
		if err = read(o, ctx); err == nil {
			return o.got, nil
		}
	}
	return nil, err
}

// v2 reads the legacy documents.
func (o *openAPI) v2(ctx context.Context) error {
	json, proto := docKey{"/openapi/v2", ""}, docKey{"/openapi/v2", acceptOpenAPIV2}
	for _, key := range []docKey{json, proto} {
		if err := o.one(ctx, key, ""); err != nil {
			return err
		}
	}
	if p, ok := o.got[proto]; ok && p.ETag != o.got[json].ETag {
		return errMoved
	}
	return nil
}

// v3 reads the index and the documents that it names, of which only those are fetched that have another hash than before.
func (o *openAPI) v3(ctx context.Context) error {
	root := docKey{"/openapi/v3", ""}
	if err := o.one(ctx, root, ""); err != nil {
		return err
	}
	index, ok := o.got[root]
	if !ok {
		return nil
	}
	paths, err := openAPIPaths(index)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelSpecs)
	for path, hash := range paths {
		for _, accept := range []string{"", acceptOpenAPIV3} {
			g.Go(func() error { return o.one(ctx, docKey{path, accept}, hash) })
		}
	}
	return g.Wait()
}

// openAPIPaths returns the paths of the documents that an index names, and their hashes; "" for what has none.
func openAPIPaths(index apidoc.Document) (map[string]string, error) {
	var body struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := decode(index, &body); err != nil {
		return nil, fmt.Errorf("OpenAPI index: %w", err)
	}
	paths := make(map[string]string, len(body.Paths))
	for name, p := range body.Paths {
		u, err := url.Parse(p.ServerRelativeURL)
		if err != nil || !strings.HasPrefix(u.Path, index.Path+"/") {
			return nil, fmt.Errorf("OpenAPI index: %q is at %q", name, p.ServerRelativeURL)
		}
		paths[u.Path] = u.Query().Get("hash")
	}
	return paths, nil
}

// one reads one document, unless its hash says that it is known. One that the server can't give stays what it was.
func (o *openAPI) one(ctx context.Context, key docKey, hash string) error {
	old, known := o.old[key]
	if hash != "" && known && old.ETag == `"`+hash+`"` {
		o.put(key, old)
		return nil
	}
	path, accept := key.path, key.accept
	if hash != "" {
		path += "?hash=" + url.QueryEscape(hash)
	}
	if accept == "" {
		accept = mediaJSON
	}
	a, err := o.api.get(ctx, path, accept, old.ETag)
	if err != nil {
		return err
	}
	switch {
	case a.status == http.StatusOK && hash != "" && a.etag != `"`+hash+`"`, a.status == http.StatusNotFound && hash != "":
		return errMoved
	case a.status == http.StatusOK && (key.accept == "" || strings.Contains(a.mediaType, "protobuf")):
		old = apidoc.Document{
			Path: key.path, Accept: key.accept, MediaType: a.mediaType, ETag: a.etag, Body: old.Body.Repack(a.body),
		}
	case a.status == http.StatusNotModified, a.status >= http.StatusInternalServerError && known:
	case a.status >= http.StatusInternalServerError && hash == "":
		return a.failure(path)
	default:
		return nil // this form, or this document, is not to be had
	}
	if n := len(old.Body.Frame()); n > apidoc.MaxFrame {
		return fmt.Errorf("get %s: %d bytes, compressed, are too many", path, n)
	}
	o.put(key, old)
	return nil
}

func (o *openAPI) put(key docKey, d apidoc.Document) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.got[key] = d
}
