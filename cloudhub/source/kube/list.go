package kube

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// rawList is a list with its items as they came.
type rawList struct {
	Kind     string            `json:"kind"`
	Metadata metav1.ListMeta   `json:"metadata"`
	Items    []json.RawMessage `json:"items"`
}

// parseList decodes a list into items for the reflector.
func parseList(body []byte, dec *watchlog.Decoder, r *watchlog.Resource) (*internalversion.List, error) {
	var raw rawList
	if err := json.Unmarshal(body, &raw); err != nil {
		return nil, fmt.Errorf("list of %s: %w", r.GroupResource(), err)
	}
	head := itemHead(r)
	list := &internalversion.List{ListMeta: raw.Metadata, Items: make([]runtime.Object, len(raw.Items))}
	for i, b := range raw.Items {
		o, err := dec.Decode(wholeItem(head, b))
		if err != nil {
			return nil, fmt.Errorf("list of %s: %w", r.GroupResource(), err)
		}
		list.Items[i] = newItem(o)
	}
	return list, nil
}

// itemHead returns what the items of a typed resource's lists lack: kube-apiserver leaves out kind and apiVersion there,
// and puts them first everywhere else.
func itemHead(r *watchlog.Resource) []byte {
	return fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,`, r.Kind, r.APIVersion())
}

// wholeItem returns the bytes of a list's item as a GET of the object would send them. Items that carry their kind
// (custom resources, PartialObjectMetadata) are whole already.
func wholeItem(head, item []byte) []byte {
	if bytes.HasPrefix(item, []byte(`{"apiVersion":`)) || bytes.HasPrefix(item, []byte(`{"kind":`)) || len(item) < 3 {
		return item
	}
	return append(bytes.Clone(head), item[1:]...)
}
