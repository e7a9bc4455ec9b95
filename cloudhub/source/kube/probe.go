package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// probe is what an empty list tells about a resource.
type probe struct {
	rev      uint64 // the cloud's revision when it was asked, or later
	listKind string
	custom   bool // keys are sorted: served from a CRD
	// deprecated is the warning that came with the list; empty for none.
	deprecated string
}

// newProbe lists what can't exist, with a consistent read. It costs the server next to nothing, however many objects
// there are. It fails with ErrUnordered when the resource's resourceVersions are not numbers.
func newProbe(ctx context.Context, client rest.Interface, resource string, namespaced bool) (probe, error) {
	body, warnings, err := listNothing(ctx, client, resource, namespaced, mediaJSON)
	if err != nil {
		return probe{}, err
	}
	p, err := parseProbe(body)
	if len(warnings) > 0 {
		p.deprecated = warnings[0].Text
	}
	return p, err
}

// noName is the name of no namespace, and of next to no object.
const noName = "-"

// listNothing returns the body of an empty list and the warnings that came with it. What is wrong with the request would
// be an error, so the first of them is about what it asks for: that it is deprecated.
//
// The path says where to look, so that it is one key: a field selector for a namespace that can't exist does not narrow
// the server's search (apiserver pkg/registry/generic/registry, Store.ListPredicate), which would go through the resource.
func listNothing(ctx context.Context, client rest.Interface, resource string, namespaced bool, accept string) (
	[]byte, []net.WarningHeader, error,
) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	result := client.Get().NamespaceIfScoped(noName, namespaced).Resource(resource).
		Param("fieldSelector", "metadata.name="+noName).Param("limit", "1").SetHeader("Accept", accept).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, nil, fmt.Errorf("probe of %s: %w", resource, err)
	}
	body, err := result.Raw()
	if err != nil {
		return nil, nil, fmt.Errorf("probe of %s: %w", resource, err)
	}
	return body, result.Warnings(), nil
}

// probeTable returns the columns of a resource's table, "" when the server gives none. It costs what newProbe costs.
func probeTable(ctx context.Context, client rest.Interface, r *watchlog.Resource) (string, error) {
	body, _, err := listNothing(ctx, client, r.Name, r.Namespaced, acceptTable)
	if apierrors.IsNotAcceptable(err) {
		return "", nil // there is a form, which can't be made of this resource
	}
	if err != nil || !isTable(body) {
		return "", err
	}
	t, err := parseTable(body)
	if err != nil || string(t.Columns) == "null" {
		return "", err
	}
	return string(t.Columns), nil
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
