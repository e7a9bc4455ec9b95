package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/cloudhub/source/fields"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// describe learns from the API server all that a log has to know about a resource. Nothing is guessed: kinds come from
// discovery, the kind of lists and the form of the JSON from a list, field labels of custom resources from their CRD.
func (k *Kube) describe(ctx context.Context, gr schema.GroupResource) (*watchlog.Resource, rest.Interface, error) {
	s, ok, err := k.docs.resource(ctx, gr)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", gr, err)
	case !ok && k.docs.catalogue.Load().stale[gr.Group]:
		return nil, nil, fmt.Errorf("%s: the group's discovery is not available at the moment", gr)
	case !ok:
		return nil, nil, fmt.Errorf("%s: %w", gr, source.ErrUnknownResource)
	case !s.watchable():
		return nil, nil, fmt.Errorf("%s: %w", gr, source.ErrNotWatchable)
	}
	client, err := k.api.client(schema.GroupVersion{Group: gr.Group, Version: s.version})
	if err != nil {
		return nil, nil, err
	}
	p, err := newProbe(ctx, client, gr.Resource, s.namespaced)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", gr, err)
	}
	r := &watchlog.Resource{
		Group: gr.Group, Version: s.version, Name: gr.Resource,
		Kind: s.kind, ListKind: p.listKind, Namespaced: s.namespaced, Custom: p.custom,
		Fields: fields.For(gr.Group, gr.Resource),
	}
	if r.Custom {
		if r.Fields, err = k.customFields(ctx, r); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", gr, err)
		}
	}
	return r, client, nil
}

// customFields returns the field labels that a CRD declares for the resource's version. A hub that may not read CRDs
// serves the resource without them: selectors on such fields are then refused at the edge, which is said in the log.
func (k *Kube) customFields(ctx context.Context, r *watchlog.Resource) ([]watchlog.Field, error) {
	path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + r.GroupResource().String()
	a, err := k.api.get(ctx, path, mediaJSON, "")
	if err != nil {
		return nil, err
	}
	switch a.status {
	case http.StatusOK:
		return selectableFields(a.body, r.Version)
	case http.StatusNotFound: // an aggregated API whose JSON happens to be sorted
		return nil, nil
	case http.StatusForbidden, http.StatusUnauthorized:
		k.log.Warn("the field labels of a custom resource are unknown: its CRD may not be read",
			"resource", r.GroupResource().String(), "status", a.status)
		return nil, nil
	default:
		return nil, a.failure(path)
	}
}

// selectableFields reads spec.versions[].selectableFields of a CRD. A label is the JSON path without its leading dot,
// an absent value matches "".
func selectableFields(crd []byte, version string) ([]watchlog.Field, error) {
	var body struct {
		Spec struct {
			Versions []struct {
				Name             string `json:"name"`
				SelectableFields []struct {
					JSONPath string `json:"jsonPath"`
				} `json:"selectableFields"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(crd, &body); err != nil {
		return nil, fmt.Errorf("CRD: %w", err)
	}
	var all []watchlog.Field
	for _, v := range body.Spec.Versions {
		if v.Name != version {
			continue
		}
		for _, f := range v.SelectableFields {
			label := strings.TrimPrefix(f.JSONPath, ".")
			all = append(all, watchlog.Field{Label: label, Path: label, Indexed: true})
		}
	}
	return all, nil
}
