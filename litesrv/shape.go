package litesrv

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// The kinds of the group meta.k8s.io as which objects and lists can be had: nothing but the metadata.
const (
	kindPartial     = "PartialObjectMetadata"
	kindPartialList = "PartialObjectMetadataList"
)

// shape is what of an object or list an answer holds. The zero value is all of it.
type shape struct {
	kind    string     // "", kindPartial, kindPartialList or kindTable
	version string     // of meta.k8s.io: "v1" or "v1beta1"
	derived *derived   // annotations of the resource that metadata alone doesn't have; nil for none
	table   *tableForm // for kindTable only
}

// readShape returns the shape that the parameters as, g and v of a clause of Accept name.
func readShape(params map[string]string) (s shape, ok bool) {
	s = shape{kind: params["as"], version: params["v"]}
	return s, params["g"] == "meta.k8s.io" && (s.version == "v1" || s.version == "v1beta1") &&
		(s.kind == kindPartial || s.kind == kindPartialList || s.kind == kindTable)
}

// appendObject appends an object to dst as JSON, with rev as its resourceVersion.
func (s shape) appendObject(dst []byte, o *watchlog.Object, rev uint64) []byte {
	switch s.kind {
	case "":
		return o.AppendJSON(dst, rev)
	case kindTable:
		return s.appendTable(dst, o, rev)
	}
	dst = append(s.appendPartial(dst), `,"metadata":`...)
	start := len(dst)
	dst = o.AppendMetadata(dst, rev)
	if s.derived != nil {
		dst = append(dst[:start], s.derived.without(dst[start:])...)
	}
	return append(dst, '}')
}

// appendItem appends an object to dst as JSON, as an item of a list.
func (s shape) appendItem(dst []byte, o *watchlog.Object) []byte {
	switch s.kind {
	case "":
		return o.AppendItem(dst)
	case kindTable:
		return s.appendRow(dst, o, o.Rev())
	default:
		return s.appendObject(dst, o, o.Rev())
	}
}

// appendPartial begins a PartialObjectMetadata, as appendType does.
func (s shape) appendPartial(dst []byte) []byte {
	dst = append(append(dst, `{"kind":"`...), kindPartial...)
	return append(append(append(dst, `","apiVersion":"meta.k8s.io/`...), s.version...), '"')
}

// apiVersion is that of the kinds of meta.k8s.io.
func (s shape) apiVersion() string { return "meta.k8s.io/" + s.version }

// appendType begins a JSON object with its kind and apiVersion, in the order of kube-apiserver's types.
func appendType(dst []byte, kind, apiVersion string) []byte {
	dst = append(append(dst, `{"kind":"`...), kind...)
	return append(append(append(dst, `","apiVersion":"`...), apiVersion...), '"')
}

// ofObject tells whether one object of r can have the shape (apiserver pkg/endpoints/handlers/response.go).
func (s shape) ofObject(r *watchlog.Resource) error {
	switch {
	case s.kind == kindTable:
		return s.table.validate()
	case s.kind != kindPartialList:
		return nil
	case r.Custom: // kube-apiserver's type for these could be a list
		return fault(http.StatusInternalServerError, metav1.StatusReasonUnknown, "content is not a list", nil)
	default:
		return unshapely("you requested %s, but the requested object is not a list (*%s)", s.kind, goType(r, r.Kind))
	}
}

// ofList does the same for a list.
func (s shape) ofList(r *watchlog.Resource) error {
	switch s.kind {
	case kindTable:
		return s.table.validate()
	case kindPartial:
		return unshapely("you requested %s, but the requested object is a list (*%s)", s.kind, goType(r, r.ListKind))
	default:
		return nil
	}
}

func unshapely(format string, args ...any) *apierrors.StatusError {
	return fault(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, fmt.Sprintf(format, args...), nil)
}

// goType returns the name of kube-apiserver's type for a kind of r, which it tells clients. Its package is that of the
// group's internal version. Of a group that is served by something else it is a guess.
func goType(r *watchlog.Resource, kind string) string {
	group, _, _ := strings.Cut(r.Group, ".")
	switch {
	case r.Custom && kind == r.ListKind:
		return "unstructured.UnstructuredList"
	case r.Group == "" || r.Group == "events.k8s.io":
		return "core." + kind
	default:
		return group + "." + kind
	}
}
