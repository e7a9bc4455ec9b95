package embedded

import (
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// list builds the JSON of a list of objects.
type list struct {
	face  *catalog.Face
	rev   uint64
	items []byte // comma separated
}

func listGVK(f *catalog.Face) schema.GroupVersionKind {
	return f.GVK().GroupVersion().WithKind(f.Resource.ListKind)
}

func (l *list) add(o *watchlog.Object) {
	if len(l.items) > 0 {
		l.items = append(l.items, ',')
	}
	l.items = o.AppendItem(l.items)
}

// bytes returns the list as kube-apiserver encodes it: built-in kinds begin with kind and apiVersion, lists of custom
// resources have sorted keys.
func (l *list) bytes() []byte {
	r := &l.face.Resource
	rev := strconv.FormatUint(l.rev, 10)
	if r.Custom {
		b := []byte(`{"apiVersion":"` + r.APIVersion() + `","items":[`)
		b = append(b, l.items...)
		return append(b, `],"kind":"`+r.ListKind+`","metadata":{"continue":"","resourceVersion":"`+rev+`"}}`...)
	}
	b := []byte(`{"kind":"` + r.ListKind + `","apiVersion":"` + r.APIVersion() + `","metadata":{"resourceVersion":"` + rev + `"},"items":[`)
	b = append(b, l.items...)
	return append(b, `]}`...)
}
