package call

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// methods are those that the Kubernetes API has.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// fieldOverhead is what a header field counts beside its bytes.
const fieldOverhead = 32

// dropped are headers that stay on this side: they concern the client's connection, or say what only a proxy may say. The
// hub drops them too; they need not travel.
var dropped = []string{
	"Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding",
	"Host", "Content-Length", "Expect", "Forwarded", "X-Real-Ip",
}

// head returns the beginning of a call. The error is a Status for the client.
func (c *Client) head(r *http.Request) (*tombolov1.CallHead, error) {
	if !slices.Contains(methods, r.Method) {
		return nil, fault(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
			"the server does not allow this method on the requested resource", 0)
	}
	// An absolute URI means this server, whatever host it names.
	uri := (&url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery, ForceQuery: r.URL.ForceQuery}).RequestURI()
	if len(uri) > c.cfg.MaxURI {
		return nil, fault(http.StatusRequestURITooLong, "", fmt.Sprintf("the URI has %d bytes, %d are allowed", len(uri), c.cfg.MaxURI), 0)
	}
	h := &tombolov1.CallHead{Edge: c.cfg.Edge, Method: r.Method, Uri: uri, ContentLength: r.ContentLength}
	size := 0
	for name, values := range r.Header {
		if slices.Contains(dropped, name) || strings.HasPrefix(name, "X-Remote-") || strings.HasPrefix(name, "X-Forwarded-") {
			continue
		}
		for _, v := range values {
			size += len(name) + len(v) + fieldOverhead
		}
		h.Header = append(h.Header, &tombolov1.Header{Name: name, Values: values})
	}
	if size > c.cfg.MaxHeader {
		return nil, fault(http.StatusRequestHeaderFieldsTooLarge, "",
			fmt.Sprintf("the header has %d bytes, %d are allowed", size, c.cfg.MaxHeader), 0)
	}
	return h, nil
}
