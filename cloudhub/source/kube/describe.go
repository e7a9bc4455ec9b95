package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/cloudhub/source/fields"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// description is all that a feed has to know about a resource.
type description struct {
	resource *watchlog.Resource
	client   rest.Interface
	printer  *printer // nil when the server gives no tables of it
	// generation is that of the CRD; 0 for what has none, or none that may be read.
	generation int64
}

// describe learns from the API server all that a log has to know about a resource. Nothing is guessed: kinds come from
// discovery, the kind of lists and the form of the JSON from a list, columns from a table, field labels of custom
// resources from their CRD.
func (k *Kube) describe(ctx context.Context, gr schema.GroupResource) (*description, error) {
	d, err := k.tryDescribe(ctx, gr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", gr, err)
	}
	return d, nil
}

func (k *Kube) tryDescribe(ctx context.Context, gr schema.GroupResource) (*description, error) {
	s, ok, err := k.docs.resource(ctx, gr)
	switch {
	case err != nil:
		return nil, err
	case !ok && k.docs.catalogue.Load().stale[gr.Group]:
		return nil, errors.New("the group's discovery is not available at the moment")
	case !ok:
		return nil, source.ErrUnknownResource
	case !s.watchable():
		return nil, source.ErrNotWatchable
	}
	client, err := k.api.client(schema.GroupVersion{Group: gr.Group, Version: s.version})
	if err != nil {
		return nil, err
	}
	p, err := newProbe(ctx, client, gr.Resource, s.namespaced)
	if err != nil {
		return nil, err
	}
	d := &description{client: client, resource: &watchlog.Resource{
		Group: gr.Group, Version: s.version, Name: gr.Resource,
		Kind: s.kind, ListKind: p.listKind, Namespaced: s.namespaced, Custom: p.custom,
		Fields: fields.For(gr.Group, gr.Resource), Deprecated: p.deprecated,
	}}
	c, err := k.customDefinition(ctx, d.resource)
	if err != nil {
		return nil, err
	}
	if d.resource.Custom {
		d.resource.Fields, d.generation = c.fields, c.generation
		if d.generation > 0 { // else there is only what the server said
			d.resource.Deprecated = c.deprecated
		}
	}
	return d, d.describeTable(ctx, c)
}

// describeTable finds out which columns the resource has, and how to keep their cells.
func (d *description) describeTable(ctx context.Context, c custom) error {
	r := d.resource
	raw, err := probeTable(ctx, d.client, r)
	if err != nil || raw == "" {
		return err
	}
	var columns []column
	if err := json.Unmarshal([]byte(raw), &columns); err != nil {
		return fmt.Errorf("columns: %w", err)
	}
	r.Columns, r.Printer = raw, c.printer()
	d.printer = &printer{ages: agesOf(r, columns, c.columns.ages())}
	return nil
}

// custom is what the CRD of a custom resource tells about one of its versions. It is empty for others, and when the hub
// may not read CRDs.
type custom struct {
	generation int64 // of the whole CRD
	fields     []watchlog.Field
	columns    printerColumns
	deprecated string // what clients of the version are warned of; empty when it is not deprecated
}

// printer is what Resource.Printer says.
func (c custom) printer() string { return printerVersion + " " + c.columns.raw }

// customDefinition returns what a resource's CRD tells. A hub that may not read CRDs serves the resource without:
// selectors on such fields are then refused at the edge, and columns of dates but the age don't move on, which is said in
// the log.
func (k *Kube) customDefinition(ctx context.Context, r *watchlog.Resource) (custom, error) {
	if !r.Custom {
		return custom{}, nil
	}
	path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + r.GroupResource().String()
	a, err := k.api.get(ctx, path, mediaJSON, "")
	if err != nil {
		return custom{}, err
	}
	switch a.status {
	case http.StatusOK:
		return readCustom(a.body, r.Version)
	case http.StatusNotFound: // an aggregated API whose JSON happens to be sorted
		return custom{}, nil
	case http.StatusForbidden, http.StatusUnauthorized:
		k.log.Warn("field labels and date columns of a custom resource are unknown: its CRD may not be read",
			"resource", r.GroupResource().String(), "status", a.status)
		return custom{}, nil
	default:
		return custom{}, a.failure(path)
	}
}

func readCustom(crd []byte, version string) (custom, error) {
	fields, err := selectableFields(crd, version)
	if err != nil {
		return custom{}, err
	}
	columns, err := readPrinterColumns(crd, version)
	if err != nil {
		return custom{}, err
	}
	deprecated, err := readDeprecation(crd, version)
	if err != nil {
		return custom{}, err
	}
	var body struct {
		Metadata struct {
			Generation int64 `json:"generation"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(crd, &body); err != nil {
		return custom{}, fmt.Errorf("CRD: %w", err)
	}
	return custom{body.Metadata.Generation, fields, columns, deprecated}, nil
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
