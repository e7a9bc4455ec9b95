package embedded

import (
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	fieldlabels "github.com/tombolo-sync/tombolo/cloudhub/source/fields"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// selection is what the selectors of a request choose.
type selection struct {
	face   *catalog.Face
	labels labels.Selector
	fields fields.Selector
}

// parseSelection reads labelSelector and fieldSelector from a query.
func parseSelection(f *catalog.Face, query url.Values) (*selection, error) {
	s := &selection{face: f}
	var err error
	if s.labels, err = labels.Parse(query.Get("labelSelector")); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if s.fields, err = fields.ParseSelector(query.Get("fieldSelector")); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if s.fields, err = s.fields.Transform(s.known); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return s, nil
}

// known returns a field label under its usual name, or an error for one that the resource doesn't have.
func (s *selection) known(label, value string) (name, val string, err error) {
	r := &s.face.Resource
	if usual, ok := fieldlabels.Aliases(r.Group, r.Name)[label]; ok {
		label = usual
	}
	switch {
	case label == "metadata.name", label == "metadata.namespace", r.FieldIndex(label) >= 0:
		return label, value, nil
	case len(r.Fields) == 0 && !r.Custom:
		return "", "", fmt.Errorf("%q is not a known field selector: only %q, %q", label, "metadata.name", "metadata.namespace")
	default:
		return "", "", fmt.Errorf("field label not supported: %s", label)
	}
}

func (s *selection) matches(o *watchlog.Object) bool {
	return s.labels.Matches(o.Labels()) && s.fields.Matches(objectFields{s.face, o})
}

// objectFields are the field labels of an object.
type objectFields struct {
	face   *catalog.Face
	object *watchlog.Object
}

// Has tells whether the object has the label; all that pass known are had.
func (f objectFields) Has(string) bool { return true }

// Get returns the value of a label.
func (f objectFields) Get(label string) string {
	switch label {
	case "metadata.name":
		return f.object.Name()
	case "metadata.namespace":
		return f.object.Namespace()
	}
	if i := f.face.Resource.FieldIndex(label); i >= 0 {
		return f.object.Field(i)
	}
	return ""
}
