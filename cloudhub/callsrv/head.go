package callsrv

import (
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// methods are those that the Kubernetes API has, its proxies included.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// head is the beginning of a request, found fit to be sent.
type head struct {
	method  string
	url     *url.URL // path and query only
	header  http.Header
	length  int64  // of the body, negative when it isn't known
	upgrade string // what the connection is to become; "" for nothing
	own     bool   // it has credentials of its own
}

// readHead checks what came from an edge. Errors are INVALID_ARGUMENT and RESOURCE_EXHAUSTED.
func readHead(m *tombolov1.CallHead, maxURI, maxHeader int) (*head, error) {
	if !slices.Contains(methods, m.GetMethod()) {
		return nil, invalid("method %.20q", m.GetMethod())
	}
	u, err := readURI(m.GetUri(), maxURI)
	if err != nil {
		return nil, err
	}
	h := &head{method: m.GetMethod(), url: u, length: max(-1, m.GetContentLength())}
	if h.header, err = readHeader(m.GetHeader(), maxHeader); err != nil {
		return nil, err
	}
	h.upgrade = upgradeOf(h.header)
	switch {
	case h.upgrade != "" && !knownUpgrade(h.upgrade):
		return nil, invalid("upgrade to %.50q", h.upgrade)
	case h.upgrade != "" && h.length != 0:
		return nil, invalid("a request for an upgrade has a body")
	case len(h.header["Authorization"]) > 1:
		return nil, invalid("more than one Authorization")
	}
	dropConnection(h.header)
	dropProxies(h.header)
	sendOnce(h.header)
	for _, name := range []string{"Host", "Content-Length", "Expect"} {
		h.header.Del(name)
	}
	if h.upgrade != "" {
		h.header["Connection"], h.header["Upgrade"] = []string{"Upgrade"}, []string{h.upgrade}
	}
	if _, ok := h.header["User-Agent"]; !ok {
		h.header["User-Agent"] = []string{""} // or net/http adds its own
	}
	h.own = hasCredentials(h.header)
	return h, nil
}

// readURI reads a path with its query, as it stands in a request line. It stays below the API server's own path whatever
// is in between and however that is decoded.
func readURI(uri string, limit int) (*url.URL, error) {
	if len(uri) > limit {
		return nil, status.Errorf(codes.ResourceExhausted, "the URI has %d bytes, %d are allowed", len(uri), limit)
	}
	if !strings.HasPrefix(uri, "/") || strings.HasPrefix(uri, "//") {
		return nil, invalid("the URI is not a path")
	}
	for i := range len(uri) {
		if uri[i] <= ' ' || uri[i] == 0x7f || uri[i] == '#' {
			return nil, invalid("the URI has byte %#x", uri[i])
		}
	}
	u, err := url.ParseRequestURI(uri)
	if err != nil {
		return nil, invalid("the URI can't be read")
	}
	if u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" {
		return nil, invalid("the URI is not a path")
	}
	if climbs(u.Path) {
		return nil, invalid("the path has a segment . or ..")
	}
	return u, nil
}

// climbs tells whether a decoded path, or what becomes of it when it is decoded once more, has a segment . or ..
func climbs(path string) bool {
	for range 2 {
		for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
			if part == "." || part == ".." {
				return true
			}
		}
		again, err := url.PathUnescape(path)
		if err != nil || again == path {
			return false
		}
		path = again
	}
	return false
}

// fieldOverhead is what a field counts beside its bytes (as in RFC 9113, 6.5.2), so that empty ones aren't free.
const fieldOverhead = 32

// readHeader checks names, values and size.
func readHeader(fields []*tombolov1.Header, limit int) (http.Header, error) {
	out, size := http.Header{}, 0
	for _, f := range fields {
		if !httpguts.ValidHeaderFieldName(f.GetName()) {
			return nil, invalid("header name %.50q", f.GetName())
		}
		name := textproto.CanonicalMIMEHeaderKey(f.GetName())
		for _, v := range f.GetValues() {
			if !httpguts.ValidHeaderFieldValue(v) {
				return nil, invalid("value of header %.50q", name)
			}
			if size += len(name) + len(v) + fieldOverhead; size > limit {
				return nil, status.Errorf(codes.ResourceExhausted, "the header has more than %d bytes", limit)
			}
			out[name] = append(out[name], v)
		}
	}
	return out, nil
}

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, "no API request: "+format, args...)
}
