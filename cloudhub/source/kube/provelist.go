package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// acceptMetadataProtobuf is how lists of metadata are smallest; a server that can't do it answers with JSON.
const acceptMetadataProtobuf = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," +
	acceptMetadataList

// proveListed compares a part with a consistent list of its metadata. With the newest version that was listed the log has
// all of them; what it has beyond the list was deleted or has left the part, which is on its way. Then the part is as it
// was in the cloud at the list's revision.
func (f *feed) proveListed(ctx context.Context, part source.Part, c *criteria) (uint64, error) {
	list, err := f.listMetadata(ctx, part)
	if err != nil {
		return 0, err
	}
	cloud, err := parseRev(list.ResourceVersion)
	if err != nil {
		return 0, err
	}
	newest, keys := uint64(0), make(map[string]struct{}, len(list.Items))
	for i := range list.Items {
		o := &list.Items[i]
		rev, err := parseRev(o.ResourceVersion)
		if err != nil {
			return 0, err
		}
		newest = max(newest, rev)
		keys[watchlog.KeyOf(o.Namespace, o.Name)] = struct{}{}
	}
	if err := f.entries.WaitRev(ctx, newest); err != nil {
		return 0, err
	}
	return f.when(ctx, cloud, func(snap watchlog.Snapshot) bool {
		for o := range c.objects(snap) {
			if _, ok := keys[o.Key()]; !ok {
				return false
			}
		}
		return true
	})
}

// errTooMany is a part that has more objects than a proof lists.
var errTooMany = errors.New("the part has too many objects to be listed")

// listMetadata lists the metadata of a part as it is now.
func (f *feed) listMetadata(ctx context.Context, part source.Part) (*metav1.PartialObjectMetadataList, error) {
	req := f.client.Get().NamespaceIfScoped(part.Namespace, f.resource.Namespaced && part.Namespace != "").
		Resource(f.resource.Name).Param("limit", strconv.Itoa(2*maxListed)).SetHeader("Accept", acceptMetadataProtobuf)
	fields := part.Fields
	if part.Name != "" {
		fields = "metadata.name=" + part.Name
		if part.Fields != "" {
			fields += "," + part.Fields
		}
	}
	if fields != "" {
		req = req.Param("fieldSelector", fields)
	}
	if part.Labels != "" {
		req = req.Param("labelSelector", part.Labels)
	}
	result := req.Do(ctx)
	if err := result.Error(); err != nil {
		return nil, fmt.Errorf("list %s: %w", f.gr, err)
	}
	body, err := result.Raw()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", f.gr, err)
	}
	list, err := parseMetadataList(body)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", f.gr, err)
	}
	if list.Continue != "" {
		return nil, errTooMany
	}
	return list, nil
}

// parseMetadataList decodes a list in either encoding. A protobuf body is four bytes of magic and a runtime.Unknown
// (apimachinery pkg/runtime/serializer/protobuf).
func parseMetadataList(body []byte) (*metav1.PartialObjectMetadataList, error) {
	list := &metav1.PartialObjectMetadataList{}
	raw, ok := bytes.CutPrefix(body, []byte("k8s\x00"))
	if !ok {
		return list, json.Unmarshal(body, list)
	}
	var u runtime.Unknown
	if err := u.Unmarshal(raw); err != nil {
		return nil, err
	}
	return list, list.Unmarshal(u.Raw)
}
