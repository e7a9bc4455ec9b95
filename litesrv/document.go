package litesrv

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/munnerz/goautoneg"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// documentTypes are the media types in which documents can be had.
var documentTypes = []string{"application/json"}

// document answers with one of the cloud's API documents, in the variant that the client asks for.
func (s *Server) document(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	docs := s.cfg.Backend.Documents()
	variants := docs.At(path)
	query := r.URL.Query()
	if _, err := parseTimeout(query); err != nil {
		s.fail(w, r, err)
		return
	}
	if len(variants) == 0 {
		s.noDocument(w, r, path, docs.Hash() == "")
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		s.fail(w, r, notAllowed())
		return
	}
	accept := r.Header.Get("Accept")
	if s.hasDocumentRoute(path) && !hasRoute(accept) {
		s.fail(w, r, noRoute(documentTypes))
		return
	}
	d, pretty, ok := chooseDocument(variants, accept)
	if !ok {
		s.fail(w, r, notAcceptable(documentTypes))
		return
	}
	pretty = strings.HasPrefix(path, "/api") && (pretty || wantsPretty(r))
	writeDocument(w, r, d, query, representation{pretty: pretty})
}

// hasDocumentRoute tells whether kube-apiserver answers a path by go-restful, which refuses some Accepts on its own. The
// others are the list of groups, and what describes groups of CRDs.
func (s *Server) hasDocumentRoute(path string) bool {
	if group, ok := strings.CutPrefix(path, "/apis/"); ok {
		group, _, _ = strings.Cut(group, "/")
		return s.catalog().builtin(target{group: group})
	}
	return path == "/version" || path == "/api" || strings.HasPrefix(path, "/api/")
}

// noDocument answers for a path that has no document. none is set when there is no document at all.
func (s *Server) noDocument(w http.ResponseWriter, r *http.Request, path string, none bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case parts[0] == "metrics":
		http.NotFound(w, r) // who scrapes an edge doesn't mean the cloud, and doesn't want megabytes over its link
	case parts[0] == "api" || parts[0] == "apis" || parts[0] == "version" || parts[0] == "openapi":
		s.ask(w, r, func() { s.undescribed(w, r, parts, none) })
	case s.cfg.Fallback == nil:
		http.NotFound(w, r)
	default:
		s.fallBack(w, r)
	}
}

// undescribed answers for a document that there should be but is not.
func (s *Server) undescribed(w http.ResponseWriter, r *http.Request, parts []string, none bool) {
	switch {
	case none:
		s.fail(w, r, starting())
	case parts[0] == "openapi" && len(parts) > 1 && !s.catalog().openAPI:
		s.fail(w, r, noOpenAPI())
	case parts[0] == "api" && len(parts) == 2:
		s.fail(w, r, notServed())
	case parts[0] == "apis" && len(parts) == 3 && s.catalog().builtin(target{group: parts[1]}):
		s.fail(w, r, notServed())
	default:
		http.NotFound(w, r)
	}
}

// chooseDocument returns the variant for an Accept, and whether it is to be indented. The plain one is JSON and is also
// what a wildcard gets.
func chooseDocument(variants []apidoc.Document, accept string) (d apidoc.Document, pretty, ok bool) {
	if accept == "" {
		accept = "*/*"
	}
	for _, clause := range goautoneg.ParseAccept(accept) {
		for _, d := range variants {
			if pretty, ok := selects(clause, d); ok {
				return d, pretty, true
			}
		}
	}
	return apidoc.Document{}, false, false
}

// selects tells whether a clause of Accept asks for a document. A document that is chosen by parameters is meant only
// by a clause with the same ones; weights and profiles don't count. /version knows no parameters.
func selects(c goautoneg.Accept, d apidoc.Document) (pretty, ok bool) {
	if d.Accept == "" {
		p, ok := readParams(c.Params, true, false)
		return p.pretty, (ok || d.Path == "/version") && covers(c, "application/json")
	}
	keys := goautoneg.ParseAccept(d.Accept)
	if len(keys) != 1 {
		return false, false
	}
	k := keys[0]
	if c.Type != k.Type || c.SubType != k.SubType {
		return false, false
	}
	for _, p := range []string{"as", "g", "v"} {
		if c.Params[p] != k.Params[p] {
			return false, false
		}
	}
	return c.Params["pretty"] == "1", true
}

// writeDocument answers with a document, or with 304 when the client has it.
func writeDocument(w http.ResponseWriter, r *http.Request, d apidoc.Document, query url.Values, p representation) {
	h := w.Header()
	if d.ETag != "" {
		h.Set("ETag", d.ETag)
	}
	if d.ETag != "" || d.Accept != "" {
		h.Set("Vary", "Accept")
	}
	openAPI := strings.HasPrefix(d.Path, "/openapi/")
	switch {
	case strings.Contains(d.Accept, "apidiscovery.k8s.io"):
		h.Set("Cache-Control", "public")
	case openAPI && redirectToHash(w, d, query):
		return
	}
	if d.ETag != "" && r.Header.Get("If-None-Match") == d.ETag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	b := newBody(w, r, http.StatusOK, p)
	h.Set("Content-Type", d.MediaType)
	if openAPI && !b.gzip {
		h.Set("Content-Length", strconv.Itoa(d.Body.Len()))
	}
	if _, err := d.Body.WriteTo(b); err != nil {
		b.abandon()
		panic(http.ErrAbortHandler) // so that what was sent can't be taken for all of it
	}
	b.finish()
}

// redirectToHash handles the addresses of OpenAPI v3 documents, which carry the document's hash so that they may be
// cached for ever: with another hash the client is sent to the right address (kube-openapi pkg/handler3). It tells
// whether that was the answer.
func redirectToHash(w http.ResponseWriter, d apidoc.Document, query url.Values) bool {
	have := strings.Trim(d.ETag, `"`)
	asked := query.Get("hash")
	if asked == "" || have == "" {
		return false
	}
	if asked != have {
		w.Header().Set("Content-Type", d.MediaType)
		w.Header().Set("Location", d.Path+"?hash="+url.QueryEscape(have))
		w.WriteHeader(http.StatusMovedPermanently)
		return true
	}
	w.Header().Set("Cache-Control", "public, immutable")
	w.Header().Set("Expires", time.Now().UTC().AddDate(1, 0, 0).Format(http.TimeFormat))
	return false
}
