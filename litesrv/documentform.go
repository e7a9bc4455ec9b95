package litesrv

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"github.com/munnerz/goautoneg"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// documentForm is a document in the form that a client asks for. Documents are kept as JSON; the other forms are made
// of that.
type documentForm struct {
	apidoc.Document
	representation
}

// chooseDocument returns the form for an Accept. The plain document is also what a wildcard gets.
func chooseDocument(variants []apidoc.Document, accept string) (documentForm, bool) {
	if accept == "" {
		accept = "*/*"
	}
	for _, clause := range goautoneg.ParseAccept(accept) {
		for _, e := range encodings {
			if !covers(clause, e.mediaType) {
				continue
			}
			for _, d := range variants {
				if pretty, ok := selects(clause, d, e.stream); ok && (d.Path != "/version" || e.encoding == encodeJSON) {
					return documentForm{d, representation{encoding: e.encoding, pretty: pretty}}, true
				}
			}
		}
	}
	return documentForm{}, false
}

// selects tells whether the parameters of a clause of Accept ask for a document. One that is chosen by parameters is
// meant only by a clause with the same ones; weights and profiles don't count. /version knows no parameters.
func selects(c goautoneg.Accept, d apidoc.Document, stream bool) (pretty, ok bool) {
	params := c.Params
	if d.Accept != "" {
		keys := goautoneg.ParseAccept(d.Accept)
		if len(keys) != 1 {
			return false, false
		}
		params = maps.Clone(params)
		for _, p := range []string{"as", "g", "v"} {
			if params[p] != keys[0].Params[p] {
				return false, false
			}
			delete(params, p)
		}
	}
	p, ok := readParams(params, stream, false)
	return p.pretty, ok || d.Path == "/version"
}

// write answers with the document, or with 304 when the client has it. An error means that nothing was written.
func (f *documentForm) write(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	if f.ETag != "" {
		h.Set("ETag", f.ETag)
	}
	if f.ETag != "" || f.Accept != "" {
		h.Set("Vary", "Accept")
	}
	if f.Accept != "" {
		h.Set("Cache-Control", "public")
	}
	if f.ETag != "" && r.Header.Get("If-None-Match") == f.ETag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if f.encoding != encodeJSON {
		return f.writeEncoded(w, r)
	}
	f.pretty = f.Path != "/version" && (f.pretty || wantsPretty(r))
	b := newBody(w, r, f.representation)
	h.Set("Content-Type", f.MediaType)
	if _, err := f.Body.WriteTo(b); err != nil {
		b.abandon()
		panic(http.ErrAbortHandler) // so that what was sent can't be taken for all of it
	}
	b.finish()
	return nil
}

// writeEncoded answers with another encoding of the JSON.
func (f *documentForm) writeEncoded(w http.ResponseWriter, r *http.Request) error {
	text, err := f.Body.Text()
	if err != nil {
		return err
	}
	b := newBody(w, r, f.representation)
	w.Header().Set("Content-Type", f.mediaType()+strings.TrimPrefix(f.MediaType, "application/json"))
	if f.encoding == encodeYAML {
		b.buf, err = appendYAML(b.buf, text)
	} else {
		b.buf, err = appendDocument(b.buf, text)
	}
	if err != nil {
		b.abandon()
		return err
	}
	b.finish()
	return nil
}

// appendDocument appends a discovery document in protobuf.
func appendDocument(dst, text []byte) ([]byte, error) {
	var t metav1.TypeMeta
	if err := json.Unmarshal(text, &t); err != nil {
		return dst, err
	}
	var o interface{ Marshal() ([]byte, error) }
	switch t.Kind {
	case "APIVersions":
		o = &metav1.APIVersions{}
	case "APIGroupList":
		o = &metav1.APIGroupList{}
	case "APIGroup":
		o = &metav1.APIGroup{}
	case "APIResourceList":
		o = &metav1.APIResourceList{}
	case "APIGroupDiscoveryList":
		o = &apidiscovery.APIGroupDiscoveryList{}
	default:
		return dst, notAcceptable(mediaTypes(""))
	}
	if err := json.Unmarshal(text, o); err != nil {
		return dst, err
	}
	message, err := o.Marshal()
	if err != nil {
		return dst, err
	}
	return typeMeta{t.APIVersion, t.Kind}.appendMessage(dst, message), nil
}
