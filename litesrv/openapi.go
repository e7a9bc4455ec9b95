package litesrv

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/munnerz/goautoneg"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

const (
	openAPIRoot = "/openapi/"
	openAPIv2   = "/openapi/v2"
	openAPIv3   = "/openapi/v3"
	// zipOpenAPI is the size above which version 2 is compressed, as by the handler of kube-apiserver.
	zipOpenAPI = 1400
)

// openAPI answers with an OpenAPI document as kube-openapi's pkg/handler and pkg/handler3 do: any method, errors without
// a body, conditions and ranges as net/http knows them.
func (s *Server) openAPI(w http.ResponseWriter, r *http.Request, docs *apidoc.Set) {
	path := r.URL.Path
	variants := docs.At(path)
	if len(variants) == 0 {
		none := docs.Hash() == ""
		s.ask(w, r, func() { s.noOpenAPI(w, r, none) })
		return
	}
	since := s.catalog().since
	h := w.Header()
	switch path {
	case openAPIv3: // the list of the others: it has one form, and no ETag
		d := variants[0]
		h.Set("Content-Type", d.MediaType)
		serveText(w, r, d, time.Now())
		return
	case openAPIv2:
		h["Vary"] = []string{"Accept-Encoding", "Accept"}
	default:
		if accept := r.Header.Get("Accept"); accept != "" && len(goautoneg.ParseAccept(accept)) == 0 {
			return // as pkg/handler3, which has nothing to say to an Accept that says nothing
		}
		h.Set("Vary", "Accept")
	}
	d, ok := chooseOpenAPI(variants, r.Header.Get("Accept"))
	if !ok {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	h.Set("Content-Type", d.MediaType)
	if d.ETag != "" {
		h.Set("ETag", d.ETag)
	}
	switch {
	case path != openAPIv2:
		if !redirectToHash(w, d, r.URL.Query()) {
			serveText(w, r, d, since)
		}
	case takesGzip(r) && d.Body.Len() > zipOpenAPI && r.Method != http.MethodHead:
		z := &zipped{ResponseWriter: w}
		defer z.close()
		serveText(z, r, d, since)
	default:
		serveText(w, r, d, since)
	}
}

// noOpenAPI answers for a path that has no OpenAPI document. none is set when there is no document of any kind.
func (s *Server) noOpenAPI(w http.ResponseWriter, r *http.Request, none bool) {
	switch {
	case none:
		s.fail(w, r, starting())
	case !s.catalog().openAPI:
		s.fail(w, r, noOpenAPI())
	case strings.HasPrefix(r.URL.Path, openAPIv3+"/"):
		w.WriteHeader(http.StatusNotFound)
	default:
		http.NotFound(w, r)
	}
}

// chooseOpenAPI returns the variant for an Accept, whose parameters don't count. JSON comes before protobuf.
func chooseOpenAPI(variants []apidoc.Document, accept string) (apidoc.Document, bool) {
	if accept == "" {
		accept = "*/*"
	}
	protobuf := func(d apidoc.Document) bool { return strings.HasSuffix(d.Accept, "+protobuf") }
	for _, clause := range goautoneg.ParseAccept(accept) {
		for _, wanted := range []bool{false, true} {
			i := slices.IndexFunc(variants, func(d apidoc.Document) bool {
				return protobuf(d) == wanted && coversOpenAPI(clause, d.Accept)
			})
			if i >= 0 {
				return variants[i], true
			}
		}
	}
	return apidoc.Document{}, false
}

// coversOpenAPI tells whether a clause of Accept includes the media type of a variant. That of protobuf has an older
// spelling, which the answer is in too.
func coversOpenAPI(c goautoneg.Accept, mediaType string) bool {
	if mediaType == "" {
		mediaType = "application/json"
	}
	return covers(c, mediaType) || covers(c, strings.Replace(mediaType, "@v1.0+", ".v1.0+", 1))
}

// redirectToHash handles the addresses of OpenAPI v3 documents, which carry the document's hash so that they may be
// cached for ever: with another hash the client is sent to the right address. It tells whether that was the answer.
func redirectToHash(w http.ResponseWriter, d apidoc.Document, query url.Values) bool {
	have := strings.Trim(d.ETag, `"`)
	asked := query.Get("hash")
	if asked == "" || have == "" {
		return false
	}
	if asked != have {
		w.Header().Set("Location", d.Path+"?hash="+url.QueryEscape(have))
		w.WriteHeader(http.StatusMovedPermanently)
		return true
	}
	w.Header().Set("Cache-Control", "public, immutable")
	w.Header().Set("Expires", time.Now().UTC().AddDate(1, 0, 0).Format(time.RFC1123)) // which says UTC, as there
	return false
}

// serveText answers with a document that is unchanged since a time. Its Content-Type is set.
func serveText(w http.ResponseWriter, r *http.Request, d apidoc.Document, since time.Time) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(bodyPatience)) // one that can't be set is none
	http.ServeContent(w, r, "", since, &lazyText{body: d.Body})
}

// lazyText reads a text that is not unpacked before it is needed, which for a client that has it is never.
type lazyText struct {
	body apidoc.Body
	text *bytes.Reader // nil until needed
	at   int64
}

// Seek moves to an offset.
func (t *lazyText) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case 1:
		offset += t.at
	case 2:
		offset += int64(t.body.Len())
	}
	t.at = offset
	return offset, nil
}

// Read reads from where it is.
func (t *lazyText) Read(p []byte) (int, error) {
	if t.text == nil {
		text, err := t.body.Text()
		if err != nil {
			return 0, err
		}
		t.text = bytes.NewReader(text)
	}
	if _, err := t.text.Seek(t.at, 0); err != nil {
		return 0, err
	}
	n, err := t.text.Read(p)
	t.at += int64(n)
	return n, err
}
