package litesrv

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/munnerz/goautoneg"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// encoding is how an answer is written down.
type encoding uint8

const (
	encodeJSON encoding = iota
	encodeYAML
	encodeProtobuf
)

// encodings are what can be produced, in the order in which an Accept that leaves the choice gets them.
var encodings = []struct {
	encoding
	mediaType string
	stream    bool // can a watch be sent in it
}{
	{encodeJSON, "application/json", true},
	{encodeYAML, "application/yaml", false},
	{encodeProtobuf, "application/vnd.kubernetes.protobuf", true},
}

// routed are the media types that kube-apiserver has routes for. An Accept for built-in resources that names none of
// them is refused before anything else is looked at, and in another form.
var routed = []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"}

// representation is the form in which a client wants an answer.
type representation struct {
	encoding encoding
	shape    shape
	pretty   bool // indented; JSON only
}

// mediaType returns the Content-Type of the representation.
func (p representation) mediaType() string { return encodings[p.encoding].mediaType }

// streamType returns the Content-Type of a watch in the representation.
func (p representation) streamType() string {
	if p.encoding == encodeProtobuf {
		return p.mediaType() + streamSuffix
	}
	return p.mediaType()
}

// offer is what there is to choose from.
type offer struct {
	object bool // an object, list or watch; else a Status, which has no other shape
	// protobuf tells whether there is protobuf of objects as they are, partial whether there is of their metadata.
	protobuf, partial bool
	table             bool // whether there are tables, which are never in protobuf
}

// has tells whether an encoding is in the offer for a shape.
func (o offer) has(e encoding, s shape) bool {
	switch {
	case s.kind == kindTable:
		return o.table && e != encodeProtobuf
	case e != encodeProtobuf:
		return true
	case s.kind == "":
		return o.protobuf
	default:
		return o.partial
	}
}

// negotiate chooses the representation of the answer to r, as apiserver pkg/endpoints/handlers/negotiation does: the
// clauses of Accept in the order of their weights, skipping those with a parameter that can't be served.
func negotiate(r *http.Request, o offer) (representation, error) {
	p, ok := choose(r.Header.Get("Accept"), o)
	if !ok {
		return p, notAcceptable(mediaTypes(""))
	}
	p.indent(r)
	return p, nil
}

// negotiateError does the same for an error Status, which has no other shape. ok is false when none is acceptable.
func negotiateError(r *http.Request) (representation, bool) {
	p, ok := choose(r.Header.Get("Accept"), offer{protobuf: true})
	p.indent(r)
	return p, ok
}

// indent decides about indenting, which only JSON knows.
func (p *representation) indent(r *http.Request) {
	p.pretty = p.encoding == encodeJSON && (p.pretty || wantsPretty(r))
}

// choose returns the first acceptable representation of those that are offered.
func choose(accept string, o offer) (representation, bool) {
	if accept == "" {
		return representation{}, true
	}
	for _, clause := range goautoneg.ParseAccept(accept) {
		for _, e := range encodings {
			if !covers(clause, e.mediaType) {
				continue
			}
			if p, ok := readParams(clause.Params, e.stream, o.object); ok && o.has(e.encoding, p.shape) {
				p.encoding = e.encoding
				return p, true
			}
		}
	}
	return representation{}, false
}

// covers tells whether a clause of Accept includes a media type.
func covers(c goautoneg.Accept, mediaType string) bool {
	major, minor, _ := strings.Cut(mediaType, "/")
	if c.Type == "*" {
		return c.SubType == "*"
	}
	return c.Type == major && (c.SubType == minor || c.SubType == "*")
}

// readParams reads the parameters of a clause; ok is false when one asks for what can't be served. Unknown ones are
// ignored.
func readParams(params map[string]string, stream, object bool) (p representation, ok bool) {
	for k, v := range params {
		switch k {
		case "as", "g", "v":
			if p.shape, ok = readShape(params); !ok || !object {
				return p, false
			}
		case "stream":
			if v != "" && (v != "watch" || !stream) {
				return p, false
			}
		case "sv":
			if v != "" && (v != "v1" || !object) {
				return p, false
			}
		case "pretty":
			p.pretty = v == "1"
		}
	}
	return p, true
}

// wantsPretty tells whether the query or the kind of client asks for indented JSON.
func wantsPretty(r *http.Request) bool {
	if strings.Contains(r.URL.RawQuery, "pretty") {
		if v := r.URL.Query().Get("pretty"); v != "" {
			pretty, _ := strconv.ParseBool(v)
			return pretty
		}
	}
	agent := r.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}

// hasRoute tells whether an Accept names a media type that kube-apiserver has a route for (go-restful, route.go), of types.
// It does not know weights, and no wildcard but */*.
func hasRoute(accept string, types []string) bool {
	if accept == "" {
		return true
	}
	for rest := accept; ; {
		mime, more, found := strings.Cut(rest, ",")
		mime, _, _ = strings.Cut(mime, ";")
		mime = strings.Trim(mime, " ")
		if mime == "*/*" {
			return true
		}
		for _, m := range types {
			if mime == m {
				return true
			}
		}
		if !found || more == "" {
			return false
		}
		rest = more
	}
}

// noRoute is the answer to an Accept without a route. types are what the path's routes produce.
func noRoute(types []string) *apierrors.StatusError {
	return fault(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"406: Not Acceptable\n\nAvailable representations: "+strings.Join(types, ", "), &metav1.StatusDetails{})
}

// notAcceptable is the answer when there is a route but nothing that the client takes of what there is.
func notAcceptable(types []string) *apierrors.StatusError {
	return fault(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: "+strings.Join(types, ", "), nil)
}

// mediaTypes returns the media types of objects and lists, or with the suffix those of watches.
func mediaTypes(suffix string) []string {
	var types []string
	for _, e := range encodings {
		if suffix == "" || e.stream {
			types = append(types, e.mediaType+suffix)
		}
	}
	return types
}

// streamSuffix is what follows the media type of a watch, in texts and in the Content-Type of protobuf.
const streamSuffix = ";stream=watch"

func streamTypes() []string { return mediaTypes(streamSuffix) }
