package litesrv

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// versionTypes is the media type in which /version can be had.
var versionTypes = []string{"application/json"}

// document answers with one of the cloud's API documents, in the variant that the client asks for.
func (s *Server) document(w http.ResponseWriter, r *http.Request) {
	if _, err := parseTimeout(r.URL.Query()); err != nil {
		s.fail(w, r, err)
		return
	}
	docs := s.cfg.Backend.Documents()
	switch path := r.URL.Path; {
	case path == "/" || path == "/index.html":
		s.index(w, docs)
	case strings.HasPrefix(path, openAPIRoot):
		s.openAPI(w, r, docs)
	default:
		s.discovery(w, r, docs)
	}
}

// discovery answers with a discovery document or the version.
func (s *Server) discovery(w http.ResponseWriter, r *http.Request, docs *apidoc.Set) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	variants := docs.At(path)
	if len(variants) == 0 {
		s.noDocument(w, r, path, docs.Hash() == "")
		return
	}
	accept := r.Header.Get("Accept")
	if types := s.documentRoute(path); types != nil {
		switch {
		case r.Method != http.MethodGet:
			s.fail(w, r, notAllowed())
			return
		case !hasRoute(accept, types):
			s.fail(w, r, noRoute(types))
			return
		}
	}
	if r.URL.Path == "/apis/" { // another handler than that of /apis: no variant is chosen by parameters
		variants = slices.DeleteFunc(slices.Clone(variants), func(d apidoc.Document) bool { return d.Accept != "" })
	}
	f, ok := chooseDocument(variants, accept)
	if !ok {
		s.fail(w, r, notAcceptable(mediaTypes("")))
		return
	}
	if err := f.write(w, r); err != nil {
		s.fail(w, r, err)
	}
}

// documentRoute returns the media types of a path that kube-apiserver answers by go-restful, which refuses some Accepts
// and all methods but GET on its own. It is nil for the others, which take any method for GET: the list of groups, the
// groups, and what describes versions of CRDs.
func (s *Server) documentRoute(path string) []string {
	if version, ok := strings.CutPrefix(path, "/apis/"); ok {
		group, _, below := strings.Cut(version, "/")
		if below && s.catalog().builtin(target{group: group}) {
			return routed
		}
		return nil
	}
	switch {
	case path == "/version":
		return versionTypes
	case path == "/api" || strings.HasPrefix(path, "/api/"):
		return routed
	}
	return nil
}

// noDocument answers for a path that has no document. none is set when there is no document at all.
func (s *Server) noDocument(w http.ResponseWriter, r *http.Request, path string, none bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case parts[0] == "metrics":
		http.NotFound(w, r) // who scrapes an edge doesn't mean the cloud, and doesn't want megabytes over its link
	case parts[0] == "api" || parts[0] == "apis" || parts[0] == "version":
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
	case parts[0] == "api" && len(parts) == 2:
		s.fail(w, r, notServed())
	case parts[0] == "apis" && len(parts) == 3 && s.catalog().builtin(target{group: parts[1]}):
		s.fail(w, r, notServed())
	default:
		http.NotFound(w, r)
	}
}
