package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/client-go/rest"
)

// probe is what an empty list tells about a resource.
type probe struct {
	rev      uint64 // the cloud's revision when it was asked, or later
	listKind string
	custom   bool // keys are sorted: served from a CRD
}

// newProbe lists what can't exist, with a consistent read. It costs the server next to nothing, however many objects
// there are. It fails with ErrUnordered when the resource's resourceVersions are not numbers.
func newProbe(ctx context.Context, client rest.Interface, resource string, namespaced bool) (probe, error) {
	selector := "metadata.name=-"
	if namespaced {
		// Narrows the server's search to one key; without it the whole resource would be looked at.
		selector += ",metadata.namespace=-"
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	result := client.Get().Resource(resource).
		Param("fieldSelector", selector).Param("limit", "1").SetHeader("Accept", mediaJSON).Do(ctx)
	if err := result.Error(); err != nil {
		return probe{}, fmt.Errorf("probe of %s: %w", resource, err)
	}
	body, err := result.Raw()
	if err != nil {
		return probe{}, fmt.Errorf("probe of %s: %w", resource, err)
	}
	return parseProbe(body)
}

func parseProbe(body []byte) (probe, error) {
	var list rawList
	if err := json.Unmarshal(body, &list); err != nil {
		return probe{}, fmt.Errorf("empty list: %w", err)
	}
	rev, err := parseRev(list.Metadata.ResourceVersion)
	if err != nil {
		return probe{}, err
	}
	return probe{rev: rev, listKind: list.Kind, custom: bytes.HasPrefix(body, []byte(`{"apiVersion":`))}, nil
}
